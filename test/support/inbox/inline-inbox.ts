import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DurableInbox, type DurableInboxOptions } from '../../../lib/inbox/durable-inbox';
import type { DeadLetter, ProvenMessage } from '../../../lib/message/record';
import type { LocalCall, StoreCalls } from '../../../lib/inbox/store/protocol';
import { Store } from '../../../lib/inbox/sqlite/store';
import { storeFailed, type StoreNews, type StorePort } from '../../../lib/inbox/store/port';
import type { RetentionPeriods } from '../../../lib/inbox/tidying';
import { PATIENCE } from '../time/patience';
import { acceptedMessage } from '../../../lib/inbox/store/stored-message';

/** What a store answers of which the disk can be read, but not written. */
const READS: readonly LocalCall[] = ['look', 'list'];
const DAY = 24 * 60 * 60 * 1000;

/** The store in the thread of the test, because a thread takes long to start. Each call is a transaction of its own. */
class InlineStore implements StorePort {
  readonly store: Store;
  /** True = it fails whatever is asked of it. */
  fails = false;
  /** True = it can be read all the same. */
  isReadable = false;
  /** True = what it is asked is done at once, and answered later. */
  answersLate = false;
  #late: (() => void)[] = [];
  /** What it was asked, in order. */
  readonly questions: LocalCall[] = [];

  constructor(folder: string, news: StoreNews, steady?: () => number) {
    const file = path.join(folder, 'inbox.sqlite');
    this.store = new Store({ file, resumed: false, ...(steady && { steady }) });
    queueMicrotask(() => news.onOpened(this.store.opened));
  }

  async call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    this.questions.push(name);
    if (this.fails && !(this.isReadable && READS.includes(name))) throw storeFailed('the disk is gone');
    const give = this.store.transaction(() => this.store.work[name](take));
    if (this.answersLate) await new Promise<void>((resolve) => this.#late.push(resolve));
    return give;
  }

  answer(): void {
    this.answersLate = false;
    for (const answer of this.#late.splice(0)) answer();
  }

  async close(): Promise<void> {
    this.store.close();
  }
}

const folders = new Set<string>();
// Of an inbox that a test did not close.
process.on('exit', () => {
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
});

function temporaryFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-inline-'));
  folders.add(folder);
  return folder;
}

/** The inbox with its store in a folder that is gone when it is closed, unless it is that of the test. */
export class InlineInbox extends DurableInbox {
  readonly #port: InlineStore;
  readonly #ownFolder: string | undefined;
  #closing: Promise<void> | undefined;

  constructor({
    folder: given,
    ...options
  }: Partial<DurableInboxOptions> & { steady?: () => number; folder?: string } = {}) {
    const folder = given ?? temporaryFolder();
    let port: InlineStore | undefined;
    super({
      file: path.join(folder, 'inbox.sqlite'),
      spillFolder: path.join(folder, 'spill'),
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      spillAfter: PATIENCE,
      open: (news) => (port = new InlineStore(folder, news, options.steady)),
      ...options,
    });
    if (port === undefined) throw new Error('The store was not opened.');
    this.#port = port;
    if (given === undefined) this.#ownFolder = folder;
  }

  get store(): Store {
    return this.#port.store;
  }

  /** What the store was asked, in order. */
  get questions(): readonly LocalCall[] {
    return this.#port.questions;
  }

  get fails(): boolean {
    return this.#port.fails;
  }

  set fails(fails: boolean) {
    this.#port.fails = fails;
  }

  set isReadable(isReadable: boolean) {
    this.#port.isReadable = isReadable;
  }

  /** From now on the store answers late; `answer` ends that. */
  answersLate(): { answer: () => void } {
    this.#port.answersLate = true;
    return { answer: () => this.#port.answer() };
  }

  /** Removes what is older, all at once. */
  async tidy(ages: RetentionPeriods): Promise<void> {
    while (await this.#port.call('tidy', ages));
  }

  override close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Dead letters, stale messages and conflicts, oldest first. */
  deadLetters(): (ProvenMessage | DeadLetter)[] {
    const { store } = this;
    const rows = store.transaction(() => store.work.list({ state: 'dead', limit: 10_000 })).reverse();
    return rows.map(acceptedMessage).filter((message) => message !== undefined);
  }

  async #close(): Promise<void> {
    await super.close();
    if (this.#ownFolder !== undefined) fs.rmSync(this.#ownFolder, { recursive: true });
  }
}
