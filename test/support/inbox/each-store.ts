import fs from 'node:fs';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { DurableInbox, type FileInboxOptions } from '../../../lib/inbox/durable-inbox';
import type { KeptInbox } from '../../../lib/inbox/inboxes';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { PostgresStore } from '../../../lib/inbox/postgres/store';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { InboxEvents } from '../../../lib/inbox/store-health';
import {
  type SharedStore,
  type SharedStoreEvents,
  storeFailed,
  type StoreEvents,
  type StorePort,
  type LocalCall,
  type SharedCall,
  type StoreCalls,
} from '../../../lib/inbox/store/port';
import { acceptedMessage } from '../../../lib/inbox/store/stored-message';
import type { RetentionPeriods } from '../../../lib/inbox/retention';
import type { DeadLetter, ProvenMessage } from '../../../lib/message/record';
import { SharedServer } from '../postgres/shared-server';
import { newSchema } from '../postgres/stores';
import { needs } from '../suite/programs';
import { temporaryFolder } from '../suite/temporary-folder';
import { eventually, PATIENCE } from '../time/patience';

const DAY = 24 * 60 * 60 * 1000;
/** Between two looks at a store that fails, in milliseconds. */
const LOOK_AGAIN = 100;

/** An inbox, and what a test does to its store. */
export interface TestedInbox extends KeptInbox {
  /** True = it fails whatever is asked of it. */
  fails: boolean;
  /** Removes what is older, all at once. */
  tidy(ages: RetentionPeriods): Promise<void>;
}

interface TestedInboxOptions {
  log?: (news: InboxEvents) => void;
  /** Milliseconds of a clock that never jumps, by which the inbox ages. */
  steady?: () => number;
  /** Inboxes of one name have one store: opened again, it is the one that was closed. */
  name?: string;
}

/** Opens an inbox, which is closed after the test, and resolves when it can store. */
type OpenInbox = (options?: TestedInboxOptions) => Promise<TestedInbox>;

/** What holds of an inbox whichever store is behind it. */
export function inEachStore(title: string, define: (open: OpenInbox) => void): void {
  describe(`${title}, in SQLite`, () => define(inSqlite()));
  describe(`${title}, in PostgreSQL`, () => define(inPostgres()));
}

function inSqlite(): OpenInbox {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder('each');
  });
  const open = opening(({ name = 'inbox', ...options }) => {
    const own = path.join(folder, name);
    fs.mkdirSync(own, { recursive: true });
    return new InlineInbox({ folder: own, lookAgain: LOOK_AGAIN, ...options });
  });
  // Behind the hook that closes them.
  afterEach(() => fs.rmSync(folder, { recursive: true }));
  return open;
}

function inPostgres(): OpenInbox {
  let server: SharedServer;
  let schemas: Map<string, string>;
  before(async function () {
    needs(this, 'postgres', 'initdb');
    server = await SharedServer.use();
  });
  beforeEach(() => {
    schemas = new Map();
  });
  after(() => server?.remove());
  return opening(({ name = 'inbox', ...options }) => {
    const schema = schemas.get(name) ?? newSchema();
    schemas.set(name, schema);
    return new TestedSharedInbox(server.url(), schema, options);
  });
}

function opening(open: (options: TestedInboxOptions) => TestedInbox): OpenInbox {
  const inboxes = new Set<TestedInbox>();
  afterEach(async () => {
    for (const inbox of inboxes) {
      inbox.fails = false;
      await inbox.close();
    }
    inboxes.clear();
  });
  return async (options = {}) => {
    const inbox = open(options);
    inboxes.add(inbox);
    await eventually(() => inbox.state().durable === true, 'the opening of the inbox');
    return inbox;
  };
}

/** A store that others share, and that fails when the test says so. */
class FailingStore implements SharedStore {
  fails = false;

  constructor(private readonly store: SharedStore) {}

  async call<Name extends SharedCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
    hurry?: boolean,
  ): Promise<StoreCalls[Name]['give']> {
    if (this.fails) throw storeFailed('the database is gone');
    return this.store.call(name, take, hurry);
  }

  isLeaseSafe(): boolean {
    return this.store.isLeaseSafe();
  }

  takePart(): void {
    this.store.takePart();
  }

  standAside(): Promise<void> {
    return this.store.standAside();
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

class TestedSharedInbox extends DurableInbox implements TestedInbox {
  readonly #port: FailingStore;
  #closing: Promise<void> | undefined;

  constructor(url: string, schema: string, { log, steady }: TestedInboxOptions) {
    let port: FailingStore | undefined;
    const settings = readConnection(url, { schema, tls: 'off', instanceName: 'test' });
    super({
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      timeoutMs: PATIENCE,
      lookAgain: LOOK_AGAIN,
      share: (news: SharedStoreEvents) => {
        port = new FailingStore(new PostgresStore({ settings, ...(steady && { monotonic: steady }) }, news));
        return port;
      },
      ...(log && { log }),
    });
    if (port === undefined) throw new Error('The store was not opened.');
    this.#port = port;
  }

  get fails(): boolean {
    return this.#port.fails;
  }

  set fails(fails: boolean) {
    this.#port.fails = fails;
  }

  async tidy(ages: RetentionPeriods): Promise<void> {
    while (await this.#port.call('tidy', ages));
  }

  override close(): Promise<void> {
    this.#closing ??= super.close();
    return this.#closing;
  }
}

/** What a store answers of which the disk can be read, but not written. */
const READS: readonly LocalCall[] = ['look', 'list'];

/** What becomes of a call: `pass` does what was asked. */
export type Hook = (name: LocalCall, pass: () => unknown) => unknown;

export const pass: Hook = (_name, act) => act();

export function fail(): never {
  throw storeFailed('the disk is gone');
}

/** The store in the thread of the test, because a thread takes long to start. Each call is a transaction of its own. */
class InlineStore implements StorePort {
  store: Store;
  fails = false;
  isReadable = false;
  answersLate = false;
  hook = pass;
  #late: (() => void)[] = [];
  #isClosed = false;
  readonly questions: LocalCall[] = [];

  constructor(
    private readonly file: string,
    readonly news: StoreEvents,
    private readonly own: { steady?: (() => number) | undefined; isSpare?: boolean } = {},
  ) {
    this.store = this.#opened(false);
    queueMicrotask(() => news.onOpened(this.store.opened));
  }

  reopen(): void {
    if (this.#isClosed) return;
    this.store.close();
    this.store = this.#opened(true);
    this.news.onOpened(this.store.opened);
  }

  async call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    this.questions.push(name);
    // As with a thread: what goes on without it has its turn.
    if (this.own.isSpare === true) await turn();
    if (this.fails && !(this.isReadable && READS.includes(name))) fail();
    const act = (): StoreCalls[Name]['give'] => this.store.transaction(() => this.store.work[name](take));
    const give = (await this.hook(name, act)) as StoreCalls[Name]['give'];
    if (this.answersLate) await new Promise<void>((resolve) => this.#late.push(resolve));
    return give;
  }

  answer(): void {
    this.answersLate = false;
    for (const answer of this.#late.splice(0)) answer();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.store.close();
  }

  #opened(resumed: boolean): Store {
    const { steady, isSpare } = this.own;
    return new Store({
      file: this.file,
      resumed,
      ...(isSpare && { isSpare }),
      ...(steady && { monotonic: steady }),
    });
  }
}

export interface InlineInboxOptions extends Partial<FileInboxOptions> {
  folder?: string;
  steady?: () => number;
  hook?: Hook;
  /** Its store fails from the beginning. */
  fails?: boolean;
}

interface SpareFaults {
  hook: Hook;
  all: InlineStore[];
}

/** The inbox with its store in a folder that is gone when it is closed, unless it is that of the test. */
export class InlineInbox extends DurableInbox {
  readonly #port: InlineStore;
  readonly #spares: SpareFaults;
  readonly folder: string;
  readonly #isOwnFolder: boolean;
  #closing: Promise<void> | undefined;

  constructor({ folder: given, hook, fails = false, ...options }: InlineInboxOptions = {}) {
    const folder = given ?? temporaryFolder();
    let port: InlineStore | undefined;
    const spares: SpareFaults = { hook: pass, all: [] };
    super({
      file: path.join(folder, 'inbox.sqlite'),
      spillFolder: path.join(folder, 'spill'),
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      timeoutMs: PATIENCE,
      open: (news) =>
        (port = new InlineStore(path.join(folder, 'inbox.sqlite'), news, { steady: options.steady })),
      openSpare: (file, news) => {
        const spare = new InlineStore(file, news, { isSpare: true });
        spare.hook = (name, act) => spares.hook(name, act);
        spares.all.push(spare);
        return spare;
      },
      ...options,
    });
    if (port === undefined) throw new Error('The store was not opened.');
    this.#port = port;
    this.#spares = spares;
    this.folder = folder;
    this.#isOwnFolder = given === undefined;
    port.fails = fails;
    if (hook !== undefined) port.hook = hook;
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

  /** True = where it fails, it can be read all the same. */
  set isReadable(isReadable: boolean) {
    this.#port.isReadable = isReadable;
  }

  set hook(hook: Hook) {
    this.#port.hook = hook;
  }

  /** What becomes of calls of what is beside it. */
  set spareHook(hook: Hook) {
    this.#spares.hook = hook;
  }

  /** What its store tells it. */
  get storeNews(): StoreEvents {
    return this.#port.news;
  }

  /** Its store is closed, and opened once more, as after a fault of the disk. */
  reopen(): void {
    this.#port.reopen();
  }

  /** And what is beside it, likewise. */
  reopenSpares(): void {
    for (const spare of this.#spares.all) spare.reopen();
  }

  /** From now on the store does at once what it is asked, and answers late; `answer` ends that. */
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
    // A test that has failed meanwhile may owe them still.
    this.#port.answer();
    await super.close();
    if (this.#isOwnFolder) fs.rmSync(this.folder, { recursive: true });
  }
}
