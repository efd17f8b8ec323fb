import fs from 'node:fs';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { isMisread } from '../fault';
import type { Row } from '../statements';
import { LeafRows } from './leaf-rows';
import { Pages } from './pages';
import { COLUMNS, type RowSource, type SalvagedTable } from './row-source';

/** Else newer releases of Node.js refuse to read what is damaged; earlier ones know no such option. */
const LENIENT: DatabaseSyncOptions & { defensive: boolean } = { defensive: false };
/** Beyond every sequence. */
const END = 2 ** 48;

/** A copy of a damaged file, of which each row is read that can be: the file itself is not touched. */
export class SalvageSource implements RowSource {
  #database: DatabaseSync | undefined;
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
   */
  *rows(table: SalvagedTable): Generator<Row> {
    const [key] = COLUMNS[table];
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

  meta(name: string): unknown {
    return unlessDamaged(() => this.#database?.prepare('SELECT value FROM meta WHERE name = ?').get(name))?.[
      'value'
    ];
  }

  /** Its rows, read without SQLite, those of the log among them. To be called when all else is read. */
  *leafRows(): Generator<RowSource> {
    this.#endReading();
    const pages = new Pages(this.#copy);
    try {
      yield new LeafRows(pages);
    } finally {
      pages.close();
    }
  }

  close(): void {
    try {
      this.#endReading();
    } finally {
      removeDatabase(this.#copy);
    }
  }

  /** The log is written into the copy by that. */
  #endReading(): void {
    const database = this.#database;
    this.#database = undefined;
    unlessDamaged(() => database?.close());
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
    if (isMisread(error)) return undefined;
    throw error;
  }
}
