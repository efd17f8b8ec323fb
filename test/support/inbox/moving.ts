import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Moved, moveInbox, type MoveOptions } from '../../../lib/inbox/carry/move';
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

/** What a message is, on whichever side, without its place there. */
type Content = Record<string, unknown>;

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

  async moved(): Promise<Moved> {
    const moved = await this.move();
    assert.ok(moved !== 'already');
    return moved;
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

  /** All messages there, in the order of their sequences. */
  async there(): Promise<Content[]> {
    const rows =
      await this.sql(`SELECT delivery_id, station, id, named, copy, fingerprint, message.endpoint, message.rank,
        coalesce(work.state, message.state) AS state, coalesce(work.attempt, message.attempt) AS attempt, work.cut_off,
        CASE WHEN work.sequence IS NULL THEN message.again ELSE work.again END AS again, first, ended, alarm, is_end, received, facts, bytes
      FROM rvm.message LEFT JOIN rvm.work USING (sequence) LEFT JOIN rvm.body USING (sequence) ORDER BY sequence`);
    return rows.map((row) => contentOf(row, storedText));
  }

  async remove(): Promise<void> {
    for (const session of this.#opened) await session.close();
    this.file.remove();
  }
}

/** All messages of a file, in the order of their sequences. */
export function messagesIn(file: string): Content[] {
  const database = new DatabaseSync(file);
  try {
    const rows = database
      .prepare('SELECT * FROM message LEFT JOIN body USING (sequence) ORDER BY message.sequence')
      .all();
    return rows.map((row) => contentOf(row, String));
  } finally {
    database.close();
  }
}

function isUnfinished({ state, again }: Record<string, unknown>): boolean {
  return state === 'received' || state === 'leased' || (state === 'dead' && again === 'attempts');
}

function contentOf(row: Record<string, unknown>, textOf: (text: unknown) => string): Content {
  const text = (name: string): string | null => (row[name] === null ? null : textOf(row[name]));
  const bytes = row['bytes'];
  return {
    deliveryId: row['delivery_id'],
    station: text('station'),
    id: text('id'),
    named: Number(row['named']),
    copy: row['copy'],
    fingerprint: text('fingerprint'),
    endpoint: text('endpoint'),
    state: row['state'],
    rank: row['rank'],
    attempt: row['attempt'],
    again: row['again'],
    // Of what is final, it counts no more.
    cutOff: isUnfinished(row) ? row['cut_off'] : null,
    first: Number(row['first']),
    ended: Number(row['ended']),
    alarm: text('alarm'),
    isEnd: Number(row['is_end']),
    received: Number(row['received']),
    facts: text('facts'),
    bytes: bytes instanceof Uint8Array ? Buffer.from(bytes).toString('hex') : null,
  };
}

const CLI = path.join(__dirname, '../../../lib/inbox/program/cli.ts');

/** How a run of `rvm-inbox` ended. The code is null where it was killed. */
export interface ProgramRun {
  code: number | null;
  out: string;
  error: string;
}

/** Runs `rvm-inbox` in a process of its own. @param started told of the process */
export async function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  started: (child: ChildProcess) => void = () => undefined,
): Promise<ProgramRun> {
  const child = spawn(process.execPath, ['--import=tsx', CLI, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  started(child);
  const run: ProgramRun = { code: null, out: '', error: '' };
  child.stdout.on('data', (piece: Buffer) => (run.out += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (run.error += piece.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { ...run, code };
}
