import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Moved, moveInbox, type MoveOptions } from '../../../lib/inbox/carry/move';
import { schemaSql } from '../../../lib/inbox/postgres/schema';
import { storedText } from '../../../lib/inbox/postgres/tables';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import { Store } from '../../../lib/inbox/sqlite/store';
import type { LocalCall, NewMessage, StoreCalls } from '../../../lib/inbox/store/port';
import type { PostgresServer } from '../postgres/postgres-server';
import type { SharedServer } from '../postgres/shared-server';
import { StoreSession } from '../postgres/stores';

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
    this.#store ??= new Store({ file: this.file, resumed: false, monotonic: () => this.now });
    return this.#store;
  }
}

/** The file of an inbox and a database that it is moved to. */
export class MovingStand {
  readonly file = new FilledFile();
  readonly #opened: StoreSession[] = [];

  private constructor(
    readonly server: PostgresServer | SharedServer,
    readonly database: string,
  ) {}

  /** @param database a name that no other test has */
  static async make(server: PostgresServer | SharedServer, database: string): Promise<MovingStand> {
    await server.database(database);
    return MovingStand.again(server, database);
  }

  /** With a new file, and the database that is there: what the last one has left in it is the test's to remove. */
  static again(server: PostgresServer | SharedServer, database: string): MovingStand {
    return new MovingStand(server, database);
  }

  get url(): string {
    return this.server.url(this.database);
  }

  /** As Node-RED was stopped. */
  move(onProgress?: MoveOptions['onProgress'], url = this.url): Promise<Moved | 'already'> {
    this.file.close();
    const settings = readConnection(url, { schema: 'rvm', tls: 'off', instanceName: '' });
    return moveInbox({ folder: this.file.folder, settings, ...(onProgress && { onProgress }) });
  }

  /** And each row that the file has must be there afterwards, and no other. */
  async moved(onProgress?: MoveOptions['onProgress'], url = this.url): Promise<Moved> {
    const moved = await this.move(onProgress, url);
    assert.ok(moved !== 'already');
    assert.deepEqual(await this.contents(), contentsOf(moved.aside));
    return moved;
  }

  /** Ends it once so many of its messages are copied. */
  async endedAfter(messages: number): Promise<void> {
    const ended = this.move((copied) => {
      if (copied >= messages) throw new Error('ended here');
    });
    await assert.rejects(ended, /ended here/);
  }

  /** The tables, as an administrator makes them. */
  async makeTables(): Promise<void> {
    await this.sql(schemaSql('rvm'));
  }

  /** Whether the file has its name still. */
  isThere(): boolean {
    return existsSync(this.file.file);
  }

  /** An instance of Node-RED on the database. */
  async instance(steady?: () => number): Promise<StoreSession> {
    const opened = await StoreSession.open(this.url, steady && { steady });
    this.#opened.push(opened);
    return opened;
  }

  sql(text: string): Promise<Record<string, unknown>[]> {
    return this.server.sql(text, this.database);
  }

  /** The file under the name that it has once it was moved. */
  aside(): string {
    const [name] = readdirSync(this.file.folder).filter((each) => each.startsWith('inbox.sqlite.moved-'));
    assert.ok(name !== undefined);
    return path.join(this.file.folder, name);
  }

  /** All that the inbox there has. */
  async contents(): Promise<Contents> {
    const rows = async (sql: string): Promise<Content[]> =>
      (await this.sql(`SELECT to_json(item) AS item FROM (${sql}) AS item`)).map(({ item }) => stored(item));
    return {
      messages:
        await rows(`SELECT message.sequence, delivery_id, station, id, named::int, copy, fingerprint, message.endpoint,
          coalesce(work.state, message.state) AS state, message.rank, coalesce(work.attempt, message.attempt) AS attempt, work.cut_off,
          CASE WHEN work.sequence IS NULL THEN message.again ELSE work.again END AS again, first::int, ended::int, alarm,
          is_end::int, received, stored, coalesce(work.delivered, course.delivered) AS delivered, settled, actor AS settled_by,
          judged, verdict, facts, encode(bytes, 'hex') AS bytes, (
            SELECT coalesce(json_agg(json_build_object('place', place, 'time', time, 'step', step, 'attempt', attempt, 'actor', actor,
              'facts', facts) ORDER BY place), '[]') FROM rvm.history WHERE history.sequence = message.sequence) AS steps
        FROM rvm.message LEFT JOIN rvm.work USING (sequence) LEFT JOIN rvm.body USING (sequence) LEFT JOIN rvm.course USING (sequence)
        ORDER BY sequence`),
      endpoints: await rows(
        'SELECT endpoint, node, is_current::int FROM rvm.endpoint ORDER BY endpoint COLLATE "C", node COLLATE "C"',
      ),
      quarantine: await rows(
        `SELECT endpoint, address, facts, encode(bytes, 'hex') AS bytes, stored FROM rvm.quarantine ORDER BY id`,
      ),
      slots:
        await rows(`SELECT owner, name, slot.version, value, (ends IS NOT NULL)::int AS ends, slot_owner.version AS last
        FROM rvm.slot JOIN rvm.slot_owner USING (owner) ORDER BY owner COLLATE "C", slot.version`),
      meta: await rows(`SELECT name, value FROM rvm.meta WHERE name IN (${META}) ORDER BY name COLLATE "C"`),
    };
  }

  async remove(): Promise<void> {
    for (const session of this.#opened) await session.close();
    this.file.remove();
  }
}

type Content = Record<string, unknown>;
/** All rows of an inbox that are carried, in the same words whichever store they are of. */
type Contents = Record<'messages' | 'endpoints' | 'quarantine' | 'slots' | 'meta', Content[]>;

const META = `'clock', 'quarantine-key', 'view-key'`;

/** All that the inbox of a file has, as the next start finds it. */
export function contentsOf(file: string): Contents {
  const database = new DatabaseSync(file);
  const rows = (sql: string): Content[] => database.prepare(sql).all().map(inHex);
  try {
    const steps = database.prepare(
      'SELECT place, time, step, attempt, actor, facts FROM history WHERE sequence = ? ORDER BY place',
    );
    const messages = rows(`SELECT sequence, delivery_id, station, id, named, copy, fingerprint, endpoint,
        iif(state = 'leased', 'received', state) AS state, rank, attempt,
        CASE WHEN state = 'leased' THEN cut_off + at_flow WHEN state = 'received' OR again IS 'attempts' THEN cut_off END AS cut_off,
        iif(state = 'leased' AND at_flow = 1, 'restart', again) AS again, first, ended, alarm, is_end, received, stored, delivered,
        settled, settled_by, judged, verdict, facts, bytes
      FROM message LEFT JOIN body USING (sequence) ORDER BY sequence`);
    return {
      messages: messages.map((message) => ({
        ...message,
        steps: steps.all(Number(message['sequence'])).map((row) => ({ ...row })),
      })),
      endpoints: rows('SELECT endpoint, node, is_current FROM endpoint ORDER BY endpoint, node'),
      quarantine: rows('SELECT endpoint, address, facts, bytes, stored FROM quarantine ORDER BY id'),
      slots:
        rows(`SELECT owner, name, slot.version, value, ends IS NOT NULL AS ends, slot_owner.version AS last
        FROM slot JOIN slot_owner USING (owner) WHERE value IS NOT NULL ORDER BY owner, slot.version`),
      meta: rows(`SELECT name, value FROM meta WHERE name IN (${META})
        UNION SELECT 'clock', CAST((SELECT coalesce(max(stored), 0) FROM message) AS TEXT) WHERE NOT EXISTS (
          SELECT 1 FROM meta WHERE name = 'clock') ORDER BY name`),
    };
  } finally {
    database.close();
  }
}

function inHex(row: Content): Content {
  const { bytes } = row;
  return bytes instanceof Uint8Array ? { ...row, bytes: Buffer.from(bytes).toString('hex') } : { ...row };
}

/** Texts as they were before PostgreSQL stored them. */
function stored(item: unknown): Content {
  const told = (_name: string, value: unknown): unknown =>
    typeof value === 'string' ? storedText(value) : value;
  return JSON.parse(JSON.stringify(item), told) as Content;
}

const CLI = path.join(__dirname, '../../../lib/inbox/program/cli.ts');

/** How a run of `rvm-inbox` ended. The code is null where it was killed. */
export interface ProgramRun {
  code: number | null;
  out: string;
  error: string;
}

/** Runs `rvm-inbox` in a process of its own. */
export async function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramRun> {
  const child = spawn(process.execPath, ['--import=tsx', CLI, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const run: ProgramRun = { code: null, out: '', error: '' };
  child.stdout.on('data', (piece: Buffer) => (run.out += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (run.error += piece.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { ...run, code };
}
