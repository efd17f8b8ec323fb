import fs from 'node:fs';
import { DatabaseSync, type DatabaseSyncOptions, type SQLOutputValue } from 'node:sqlite';
import { isDamaged } from './fault';

export type Row = Record<string, SQLOutputValue>;

/** Else newer releases of Node.js refuse to read what is damaged; earlier ones know no such option. */
const LENIENT: DatabaseSyncOptions & { defensive: boolean } = { defensive: false };
/** Beyond every sequence. */
const END = 2 ** 48;

/** A copy of a damaged file, of which each row is read that can be: the file itself is not touched. */
export class SalvageSource {
  readonly #database: DatabaseSync | undefined;
  readonly #copy: string;

  /** @param withLog false where its log is left out: it may be of another file */
  constructor(file: string, withLog: boolean) {
    this.#copy = `${file}.reading`;
    removeDatabase(this.#copy);
    try {
      fs.copyFileSync(file, this.#copy, fs.constants.COPYFILE_FICLONE);
      if (withLog && fs.existsSync(`${file}-wal`)) fs.copyFileSync(`${file}-wal`, `${this.#copy}-wal`);
      this.#database = unlessDamaged(() => this.#open());
    } catch (error) {
      removeDatabase(this.#copy);
      throw error;
    }
  }

  /**
   * The rows of a table that can be read, oldest first. Past a damaged page it looks ahead in steps that double, and back from
   * where it can read again.
   * @param key the primary key
   */
  *rows(table: string, key: string): Generator<Row> {
    let after = 0;
    for (;;) {
      const found = this.#run(
        `SELECT * FROM ${table} WHERE ${key} > ? AND ${key} < ${END} ORDER BY ${key}`,
        after,
      );
      const from = after;
      for (const row of found.rows) {
        // Damaged pages may lead in circles.
        if (Number(row[key]) <= after) continue;
        after = Number(row[key]);
        yield row;
      }
      if (found.isEnd) return;
      if (!found.isBroken && after > from) continue;
      const next = this.#nextReadable(table, key, after);
      if (next === undefined) return;
      yield* this.#before(table, key, after, next);
      after = next - 1 > from ? next - 1 : next;
    }
  }

  /** One row; undefined where there is none, or it cannot be read. */
  row(table: string, key: string, value: SQLOutputValue): Row | undefined {
    return unlessDamaged(() => this.#database?.prepare(`SELECT * FROM ${table} WHERE ${key} = ?`).get(value));
  }

  close(): void {
    try {
      unlessDamaged(() => this.#database?.close());
    } finally {
      removeDatabase(this.#copy);
    }
  }

  #open(): DatabaseSync {
    const database = new DatabaseSync(this.#copy, LENIENT);
    try {
      // Before anything is read, so that no shared memory is needed.
      database.exec('PRAGMA locking_mode = EXCLUSIVE');
      // Or nothing could be read of a file that is shorter than it says.
      database.exec('PRAGMA writable_schema = ON');
      database.prepare('SELECT count(*) FROM sqlite_master').get();
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** As many rows as can be read without a break. */
  #run(sql: string, after: number): { rows: Row[]; isEnd: boolean; isBroken: boolean } {
    const rows: Row[] = [];
    const isRead = unlessDamaged(() => {
      for (const row of this.#database?.prepare(`${sql} LIMIT ${BATCH}`).iterate(after) ?? []) rows.push(row);
      return true;
    });
    const isBroken = isRead === undefined;
    return { rows, isEnd: !isBroken && rows.length < BATCH, isBroken };
  }

  /** Between a place where reading broke off and the next where it goes on, from there backwards. */
  #before(table: string, key: string, after: number, next: number): Row[] {
    const sql = `SELECT * FROM ${table} WHERE ${key} < ${next} AND ${key} > ? ORDER BY ${key} DESC`;
    const rows = this.#run(sql, after).rows.filter(
      (row) => Number(row[key]) > after && Number(row[key]) < next,
    );
    return rows.toReversed();
  }

  #nextReadable(table: string, key: string, after: number): number | undefined {
    const sql = `SELECT ${key} AS found FROM ${table} WHERE ${key} > ? AND ${key} < ${END} ORDER BY ${key} LIMIT 1`;
    for (let step = 1; after + step < END; step *= 2) {
      const found = unlessDamaged(() => this.#database?.prepare(sql).get(after + step - 1) ?? null);
      if (found === null) return undefined;
      if (found !== undefined && Number(found['found']) > after) return Number(found['found']);
    }
    return undefined;
  }
}

/** With its logs. */
export function removeDatabase(file: string): void {
  for (const end of ['', '-wal', '-journal']) fs.rmSync(`${file}${end}`, { force: true });
}

/** Rows in memory at a time. */
const BATCH = 1000;

/** Undefined where a page is damaged. @throws Error of any other kind: a disk that fails to read may be able to the next time */
function unlessDamaged<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    // A number that no version of the package has written is damage, too.
    if (isDamaged(error) || error instanceof RangeError) return undefined;
    throw error;
  }
}
