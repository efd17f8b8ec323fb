import { StoreServer } from '../../../lib/inbox/sqlite/store-server';
import type { FromStore, Request } from '../../../lib/inbox/sqlite/store-thread';
import {
  storeFailed,
  type StoreEvents,
  type StorePort,
  type LocalCall,
  type StoreCalls,
} from '../../../lib/inbox/store/port';

interface Pending {
  resolve: (give: unknown) => void;
  reject: (error: Error) => void;
}

/** The store as its thread serves it, but in the thread of the test: what a test does to SQLite reaches it. */
export class ServedStore implements StorePort {
  readonly #pending = new Map<number, Pending>();
  readonly #server: StoreServer;
  #batch: Request[] = [];
  #lastId = 0;

  constructor(
    file: string,
    private readonly news: StoreEvents,
  ) {
    this.#server = new StoreServer(file, false, (told) => queueMicrotask(() => this.#hear(told)));
  }

  call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    if (this.#batch.length === 0)
      setImmediate(() => {
        this.#server.run(this.#batch.splice(0));
        while (this.#server.search());
      });
    this.#lastId += 1;
    const id = this.#lastId;
    this.#batch.push({ id, name, take });
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: (give) => resolve(give as StoreCalls[Name]['give']), reject });
    });
  }

  async close(): Promise<void> {
    await this.call('markDelivered', []).catch(() => undefined);
    this.#server.close();
  }

  #hear(told: FromStore): void {
    if ('opened' in told) this.news.onOpened(told.opened);
    else if ('fault' in told) this.news.onFault(told.fault);
    else if ('warning' in told) this.news.onWarning(told.warning);
    else if ('slow' in told) this.news.onSlow(told.slow);
    else for (const { id, give, error } of told.replies) this.#answer(id, give, error);
  }

  #answer(id: number, give: unknown, error: string | undefined): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (error === undefined) pending?.resolve(give);
    else pending?.reject(storeFailed(error));
  }
}
