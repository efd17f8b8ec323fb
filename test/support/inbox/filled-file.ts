import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { LocalCall, NewMessage, StoreCalls } from '../../../lib/inbox/store/protocol';

/** The folder of an inbox with its file, which a test fills as Node-RED would. */
export class FilledFile {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'rvm-filled-'));
  #store: Store | undefined;
  /** Milliseconds of a clock that never jumps; the file ages by it. */
  now = 0;

  get file(): string {
    return path.join(this.folder, 'inbox.sqlite');
  }

  /** Asks what Node-RED would ask, in a transaction of its own. */
  ask<Name extends LocalCall>(name: Name, take: StoreCalls[Name]['take']): StoreCalls[Name]['give'] {
    const store = this.#opened();
    const work = store.work[name] as (take: StoreCalls[Name]['take']) => StoreCalls[Name]['give'];
    return store.transaction(() => work(take));
  }

  /** Accepts them in one transaction. @returns their delivery ids */
  accept(messages: readonly NewMessage[]): string[] {
    const store = this.#opened();
    return store.transaction(() =>
      messages.map((message) => store.work.accept({ message, lease: 'no' }).deliveryId),
    );
  }

  /** As at the end of Node-RED: what is leased, stays so in the file. */
  close(): void {
    this.#store?.close();
    this.#store = undefined;
  }

  remove(): void {
    this.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #opened(): Store {
    this.#store ??= new Store({ file: this.file, resumed: false, steady: () => this.now });
    return this.#store;
  }
}
