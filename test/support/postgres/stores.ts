import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { tablesOf } from '../../../lib/inbox/postgres/calls/tables';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { PostgresStore, type PostgresStoreOptions } from '../../../lib/inbox/postgres/postgres-store';
import { migrate } from '../../../lib/inbox/postgres/schema';
import { Session } from '../../../lib/inbox/postgres/session';
import { type Reply, type Request, Work } from '../../../lib/inbox/postgres/work';
import type { SharedStoreNews } from '../../../lib/inbox/store/port';
import type {
  Accepted,
  NewMessage,
  Opened,
  SharedCall,
  StoreCalls,
  StoreWarning,
} from '../../../lib/inbox/store/protocol';
import { eventually } from '../time/patience';

/** What a store has told, in order. */
interface Told {
  opened: Opened[];
  faults: string[];
  warnings: StoreWarning[];
  stirred: (string | undefined)[];
  waiting: Record<string, number>[];
  slots: string[];
  wishes: [deliveryId: string, wish: string][];
  epochsLost: number;
  mayHandOver: number;
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
  const told: Told = {
    opened: [],
    faults: [],
    warnings: [],
    stirred: [],
    waiting: [],
    slots: [],
    wishes: [],
    epochsLost: 0,
    mayHandOver: 0,
  };
  const news: SharedStoreNews = {
    onOpened: (opened) => told.opened.push(opened),
    onFault: (reason) => told.faults.push(reason),
    onWarning: (warning) => told.warnings.push(warning),
    onSlow: () => undefined,
    onEpochLost: () => (told.epochsLost += 1),
    onMayHandOver: () => (told.mayHandOver += 1),
    onStirred: (endpoint) => told.stirred.push(endpoint),
    onWaiting: (waiting) => told.waiting.push(waiting),
    onSlots: (owner) => told.slots.push(owner),
    onWish: (deliveryId, wish) => told.wishes.push([deliveryId, wish]),
  };
  const settings = readConnection(url, { schema, tls: 'off', instanceName });
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
  readonly work: Work;
  #epoch: string;

  private constructor(
    readonly session: Session,
    readonly schema: string,
    epoch: string,
    steady?: () => number,
  ) {
    this.#epoch = epoch;
    this.work = new Work(schema, () => this.epoch, steady);
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

/** A message on its way into the store. */
export function incoming(changes: Partial<NewMessage> = {}): NewMessage {
  return {
    station: 'north',
    id: randomUUID(),
    named: true,
    fingerprint: 'a'.repeat(64),
    endpoint: ':/remote-monitoring/north',
    state: 'received',
    rank: 0,
    isEnd: false,
    received: Date.now(),
    facts: '{"kind":"event"}',
    bytes: Buffer.from('{"a":1}'),
    ...changes,
  };
}
