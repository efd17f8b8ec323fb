import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { moveInbox, type Moved, type MoveOptions } from '../../../lib/inbox/moving/move-inbox';
import { storedText } from '../../../lib/inbox/postgres/calls/stored-text';
import { readConnection } from '../../../lib/inbox/postgres/connection-settings';
import type { PostgresServer } from '../postgres/postgres-server';
import type { SharedServer } from '../postgres/shared-server';
import { StoreSession } from '../postgres/store-session';
import { FilledFile } from './filled-file';

/** What a message is, on whichever side, without its place there. */
export type Content = Record<string, unknown>;

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
