import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { KeptInbox } from '../../../lib/inbox/inboxes';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { PostgresStore } from '../../../lib/inbox/postgres/postgres-store';
import { SharedInbox } from '../../../lib/inbox/shared-inbox';
import type { InboxNews } from '../../../lib/inbox/store-health';
import { storeFailed, type SharedStore, type SharedStoreNews } from '../../../lib/inbox/store/port';
import type { SharedCall, StoreCalls } from '../../../lib/inbox/store/protocol';
import type { RetentionPeriods } from '../../../lib/inbox/tidying';
import { SharedServer } from '../postgres/shared-server';
import { newSchema } from '../postgres/shared-stores';
import { needs } from '../suite/programs';
import { eventually, PATIENCE } from '../time/patience';
import { InlineInbox } from './inline-inbox';

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

export interface TestedInboxOptions {
  log?: (news: InboxNews) => void;
  /** Milliseconds of a clock that never jumps, by which the inbox ages. */
  steady?: () => number;
  /** Inboxes of one name have one store: opened again, it is the one that was closed. */
  name?: string;
}

/** Opens an inbox, which is closed after the test, and resolves when it can store. */
export type OpenInbox = (options?: TestedInboxOptions) => Promise<TestedInbox>;

/** What holds of an inbox whichever store is behind it. */
export function inEachStore(title: string, define: (open: OpenInbox) => void): void {
  describe(`${title}, in SQLite`, () => define(inSqlite()));
  describe(`${title}, in PostgreSQL`, () => define(inPostgres()));
}

function inSqlite(): OpenInbox {
  let folder: string;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-each-'));
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

  mayHandOver(): boolean {
    return this.store.mayHandOver();
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

class TestedSharedInbox extends SharedInbox implements TestedInbox {
  readonly #port: FailingStore;
  #closing: Promise<void> | undefined;

  constructor(url: string, schema: string, { log, steady }: TestedInboxOptions) {
    let port: FailingStore | undefined;
    const settings = readConnection(url, { schema, tls: 'off', instanceName: 'test' });
    super({
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      patience: PATIENCE,
      lookAgain: LOOK_AGAIN,
      open: (news: SharedStoreNews) => {
        port = new FailingStore(new PostgresStore({ settings, ...(steady && { steady }) }, news));
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
