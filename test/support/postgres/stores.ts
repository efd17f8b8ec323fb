import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { tablesOf } from '../../../lib/inbox/postgres/tables';
import { type ConnectionSettings, readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { PostgresStore, type PostgresStoreOptions } from '../../../lib/inbox/postgres/store';
import { migrate } from '../../../lib/inbox/postgres/schema';
import { Session } from '../../../lib/inbox/postgres/session';
import { BatchRunner } from '../../../lib/inbox/postgres/batches';
import type { Reply, Request } from '../../../lib/inbox/postgres/call-plans';
import { plannerOf } from '../../../lib/inbox/postgres/inbox-plans';
import { DurableInbox, type SharedInboxOptions } from '../../../lib/inbox/durable-inbox';
import type {
  SharedStoreEvents,
  Accepted,
  AnyCall,
  LeasedMessage,
  NewMessage,
  OpenReport,
  SharedCall,
  StoreCalls,
  StoreWarning,
} from '../../../lib/inbox/store/port';
import { needs, type Program } from '../suite/programs';
import { eventually, PATIENCE } from '../time/patience';
import { PostgresServer } from './postgres-server';
import { SharedServer } from './shared-server';

const DAY = 24 * 60 * 60 * 1000;

/** What a store has told, in order. */
interface Told {
  opened: OpenReport[];
  faults: string[];
  warnings: StoreWarning[];
  stirred: (string | undefined)[];
  waiting: Record<string, number>[];
  slots: string[];
  wishes: [deliveryId: string, wish: string][];
  epochsLost: number;
  isLeaseSafe: number;
}

export interface OpenStore {
  store: PostgresStore;
  told: Told;
}

/** A schema of its own, for each test. */
export function newSchema(): string {
  return `rvm ${randomUUID().slice(0, 8)}`;
}

/** One of the stores that share a schema, and what it tells. */
export function sharedStore(
  url: string,
  schema: string,
  {
    instanceName = 'one',
    ...options
  }: Partial<Omit<PostgresStoreOptions, 'settings'>> & { instanceName?: string } = {},
): OpenStore {
  const lists = { opened: [], faults: [], warnings: [], stirred: [], waiting: [], slots: [], wishes: [] };
  const told: Told = { ...lists, epochsLost: 0, isLeaseSafe: 0 };
  const news: SharedStoreEvents = {
    onOpened: (opened) => told.opened.push(opened),
    onFault: (reason) => told.faults.push(reason),
    onWarning: (warning) => told.warnings.push(warning),
    onSlow: () => undefined,
    onEpochLost: () => (told.epochsLost += 1),
    onLeaseSafe: () => (told.isLeaseSafe += 1),
    onStirred: (endpoint) => told.stirred.push(endpoint),
    onWaiting: (waiting) => told.waiting.push(waiting),
    onSlots: (owner) => told.slots.push(owner),
    onWish: (deliveryId, wish) => told.wishes.push([deliveryId, wish]),
  };
  const settings = settingsOf(url, schema, instanceName);
  return { store: new PostgresStore({ settings, ...options }, news), told };
}

/** The same, once it is open. */
export async function openStore(...args: Parameters<typeof sharedStore>): Promise<OpenStore> {
  const open = sharedStore(...args);
  await eventually(() => open.told.opened.length > 0, `the store to open (${open.told.faults.at(-1)})`);
  return open;
}

/** A call with what it takes. */
type Call = { [Name in SharedCall]: readonly [Name, StoreCalls[Name]['take']] }[SharedCall];
type Gives<Calls extends readonly Call[]> = {
  -readonly [Index in keyof Calls]: StoreCalls[Calls[Index][0]]['give'];
};
type Lease = StoreCalls['accept']['take']['lease'];

/** The instance of an inbox that a test plays: a connection, and the statements on it. */
export class StoreSession {
  readonly work: BatchRunner;
  #epoch: string;

  private constructor(
    readonly session: Session,
    readonly schema: string,
    epoch: string,
    steady: () => number = () => performance.now(),
  ) {
    this.#epoch = epoch;
    this.work = new BatchRunner(plannerOf(schema, steady), () => this.epoch);
  }

  /** @param url of a database; the schema is brought up to date, and the instance has its row */
  static async open(
    url: string,
    {
      schema = 'rvm',
      epoch = randomUUID(),
      steady,
    }: { schema?: string; epoch?: string; steady?: () => number } = {},
  ): Promise<StoreSession> {
    const session = await connected(url);
    await migrate(session, schema);
    await session.client.query(
      `INSERT INTO ${tablesOf(schema).instance} (epoch, name, ttl_ms) VALUES ($1, 'test', 10000) ON CONFLICT DO NOTHING`,
      [epoch],
    );
    return new StoreSession(session, schema, epoch, steady);
  }

  get epoch(): string {
    return this.#epoch;
  }

  /** Others have taken it for dead: a new epoch begins. */
  beginAnew(): void {
    this.#epoch = randomUUID();
  }

  /** One call, in a batch of its own. */
  async call<Name extends SharedCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    const [reply] = await this.#run([{ id: 1, name, take }]);
    return givenIn(reply) as StoreCalls[Name]['give'];
  }

  /** Calls of one batch. @returns what each gives */
  async batch<const Calls extends readonly Call[]>(...calls: Calls): Promise<Gives<Calls>> {
    const gives: unknown = (await this.replies(...calls)).map(givenIn);
    return gives as Gives<Calls>;
  }

  /** Messages of one batch. */
  async accept(messages: readonly NewMessage[], lease: Lease = 'no'): Promise<Accepted[]> {
    const calls = messages.map((message) => ['accept', { message, lease }] as const);
    return this.batch(...calls);
  }

  /** The same. @returns what became of each */
  replies(...calls: readonly Call[]): Promise<Reply[]> {
    return this.#run(calls.map(([name, take], index) => ({ id: index + 1, name, take })));
  }

  async close(): Promise<void> {
    await this.session.client.end();
  }

  async #run(requests: readonly Request[]): Promise<Reply[]> {
    const replies = new Map((await this.work.run(this.session, requests)).map((reply) => [reply.id, reply]));
    return requests.map(({ id }) => {
      const reply = replies.get(id);
      if (reply === undefined) throw new Error(`no reply to ${id}`);
      return reply;
    });
  }
}

function givenIn(reply: Reply | undefined): unknown {
  if (reply?.error !== undefined) throw reply.error;
  return reply?.give;
}

export async function connected(url: string): Promise<Session> {
  const client = new Client({ connectionString: url, pipeline: true });
  await client.connect();
  return new Session(client);
}

export function settingsOf(url: string, schema = 'rvm', instanceName = 'test'): ConnectionSettings {
  return readConnection(url, { schema, tls: 'off', instanceName });
}

interface InboxOptions extends Partial<Omit<SharedInboxOptions, 'open'>> {
  url?: string;
  settings?: ConnectionSettings;
}

/** For the tests of a `describe`: a server, a schema of each test there, and what the test opens, which is closed behind it. */
export class PostgresStand<Server extends PostgresServer | SharedServer = SharedServer> {
  server!: Server;
  schema = '';
  readonly #closing: (() => unknown)[] = [];

  private constructor(start: () => Promise<Server>, programs: readonly Program[]) {
    const begin = async (): Promise<void> => {
      this.server = await start();
    };
    before(function () {
      needs(this, 'postgres', 'initdb', ...programs);
      return begin();
    });
    after(() => this.server?.remove());
    beforeEach(() => {
      this.schema = newSchema();
    });
    afterEach(() => Promise.all(this.#closing.splice(0).map((close) => close())));
  }

  /** On the server of all files of the process. */
  static shared(...programs: Program[]): PostgresStand {
    return new PostgresStand(() => SharedServer.use(), programs);
  }

  /** On a server that the tests may end. */
  static own(...programs: Program[]): PostgresStand<PostgresServer> {
    return new PostgresStand(() => PostgresServer.start(), programs);
  }

  /** Closed behind the test, too. */
  closing(close: () => unknown): void {
    this.#closing.push(close);
  }

  sql(text: string): Promise<Record<string, unknown>[]> {
    return this.server.sql(text);
  }

  /** A table of this schema, for a statement. */
  table(name: string): string {
    return `"${this.schema}".${name}`;
  }

  async connection(role?: string): Promise<Session> {
    const session = await connected(this.server.url(undefined, role));
    this.closing(() => session.client.end());
    return session;
  }

  async session(options: { epoch?: string; role?: string } = {}): Promise<StoreSession> {
    const url = this.server.url(undefined, options.role);
    const session = await StoreSession.open(url, { schema: this.schema, ...options });
    this.closing(() => session.close());
    return session;
  }

  async store(
    instanceName = 'one',
    { url = this.server.url(), ...options }: { url?: string; clocks?: PostgresStoreOptions['clocks'] } = {},
  ): Promise<OpenStore> {
    const open = await openStore(url, this.schema, { instanceName, ...options });
    this.closing(() => open.store.close());
    return open;
  }

  async inbox({ url = this.server.url(), settings, ...options }: InboxOptions = {}): Promise<DurableInbox> {
    const inbox = new DurableInbox({
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      timeoutMs: PATIENCE,
      share: (news) => new PostgresStore({ settings: settings ?? settingsOf(url, this.schema) }, news),
      ...options,
    });
    this.closing(() => inbox.close());
    await eventually(() => inbox.state().durable === true, 'the opening of the inbox');
    return inbox;
  }

  /** A transaction of somebody else, which is open until it is ended. @returns ends it */
  async stranger(text: string): Promise<() => Promise<unknown>> {
    const { client } = await connected(this.server.url());
    let ended: Promise<void> | undefined;
    const end = (): Promise<void> => (ended ??= client.end());
    this.closing(end);
    await client.query(`BEGIN; ${text}`);
    return end;
  }
}

/** A store of whichever kind. */
export interface Asked {
  call<Name extends AnyCall>(name: Name, take: StoreCalls[Name]['take']): Promise<StoreCalls[Name]['give']>;
}

export function accept(
  store: Asked,
  changes: Partial<NewMessage> = {},
  wanted: Lease = 'no',
): Promise<Accepted> {
  return store.call('accept', { message: incoming(changes), lease: wanted });
}

export function lease(store: Asked, limit = 10, ordered = false): Promise<LeasedMessage[]> {
  return store.call('lease', { endpoint: ENDPOINT, limit, health: limit, ordered });
}

export function finish(
  store: Asked,
  deliveryId: string,
  state: 'delivered' | 'dead' = 'delivered',
): Promise<StoreCalls['finish']['give']> {
  return store.call('finish', { deliveryId, state, give: false });
}

export function idsOf(messages: readonly { deliveryId: string }[]): string[] {
  return messages.map(({ deliveryId }) => deliveryId);
}

/** Of what comes by `incoming`. */
export const ENDPOINT = ':/remote-monitoring/north';

/** A message on its way into the store. */
export function incoming(changes: Partial<NewMessage> = {}): NewMessage {
  return {
    station: 'north',
    id: randomUUID(),
    named: true,
    fingerprint: 'a'.repeat(64),
    endpoint: ENDPOINT,
    state: 'received',
    rank: 0,
    isEnd: false,
    received: Date.now(),
    facts: '{"kind":"event"}',
    bytes: Buffer.from('{"a":1}'),
    ...changes,
  };
}
