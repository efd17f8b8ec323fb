import fs from 'node:fs';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { isMisread } from '../fault';
import { sizeOf } from '../open';
import type { Row } from '../tables/statements';
import { PageRows } from './leaf-rows';
import { walFramesOf, type Frame } from './log-frames';
import { WalPages, RawPages } from './pages';
import { COLUMNS, END, type RowSource, type SalvagedTable } from './row-source';

/** Else newer releases of Node.js refuse to read what is damaged; earlier ones know no such option. */
const LENIENT: DatabaseSyncOptions & { defensive: boolean } = { defensive: false };

/** A copy of a damaged file, of which each row is read that can be: the file itself is not touched. */
export class SalvageSource implements RowSource {
  #database: DatabaseSync | undefined;
  readonly #copy: string;
  /** What its log holds, where SQLite has not read all of it. */
  readonly #frames: readonly Frame[];

  /** @param withLog false where its log is left out: it may be of another file */
  constructor(file: string, withLog: boolean) {
    this.#copy = `${file}.reading`;
    removeDatabase(this.#copy);
    try {
      copy(file, this.#copy);
      if (withLog) copy(`${file}-wal`, `${this.#copy}-wal`);
      const frames = walFramesOf(`${this.#copy}-wal`);
      this.#database = unlessDamaged(() => this.#open());
      const isRead =
        sizeOf(file) > 0 && this.#database !== undefined && frames.every(({ isSound }) => isSound);
      this.#frames = isRead ? [] : frames;
    } catch (error) {
      removeDatabase(this.#copy);
      throw error;
    }
  }

  /** The rows of a table, oldest first, as far as they can be read one after the other. */
  *rows(table: SalvagedTable): Generator<Row> {
    const [key] = COLUMNS[table];
    for (let after = 0, before = -1; after > before;) {
      before = after;
      for (const row of this.#batch(table, key, after)) {
        // Damaged pages may lead in circles.
        if (Number(row[key]) <= after) continue;
        after = Number(row[key]);
        yield row;
      }
    }
  }

  meta(name: string): unknown {
    return unlessDamaged(() => this.#database?.prepare('SELECT value FROM meta WHERE name = ?').get(name))?.[
      'value'
    ];
  }

  /** What else stands in its pages, and in its log, read without SQLite. To be called when all that SQLite finds is read. */
  *leafRows(): Generator<RowSource> {
    this.#endReading();
    const pages = new RawPages(this.#copy);
    try {
      if (this.#frames.length > 0) yield new PageRows(new WalPages(this.#frames, pages));
      yield new PageRows(pages);
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

  /** As many as can be read without a break. */
  #batch(table: SalvagedTable, key: string, after: number): Row[] {
    const sql = `SELECT * FROM ${table} WHERE ${key} > ? AND ${key} < ${END} ORDER BY ${key} LIMIT ${BATCH[table]}`;
    const rows: Row[] = [];
    unlessDamaged(() => {
      for (const row of this.#database?.prepare(sql).iterate(after) ?? []) rows.push(row);
    });
    return rows;
  }
}

/** Nothing where there is none. */
function copy(file: string, to: string): void {
  if (fs.existsSync(file)) fs.copyFileSync(file, to, fs.constants.COPYFILE_FICLONE);
}

/** With its logs. */
export function removeDatabase(file: string): void {
  for (const end of ['', '-wal', '-journal']) fs.rmSync(`${file}${end}`, { force: true });
}

/** Rows in memory at a time: what a message holds may be large. */
const BATCH: Readonly<Record<SalvagedTable, number>> = {
  message: 1000,
  body: 16,
  quarantine: 16,
  history: 1000,
  slot: 16,
};

/** Undefined where a page is damaged. @throws Error of any other kind: a disk that fails to read may be able to the next time */
function unlessDamaged<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (isMisread(error)) return undefined;
    throw error;
  }
}
