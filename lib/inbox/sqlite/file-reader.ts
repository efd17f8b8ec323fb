import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { isJson } from '../../json/json';
import {
  type CarriedCounts,
  type CarriedRecord,
  countsIn,
  countsSql,
  released,
} from '../store/carried-record';
import { factsWithWarnings } from '../store/stored-message';
import { COLUMNS, type NumberedTable, recordsIn } from './carried-rows';
import {
  alone,
  clockIn,
  isMisread,
  MOVED,
  numberIn,
  OpenCounter,
  openDatabase,
  OPENINGS,
  sizeOf,
  syncFolder,
  UNCERTAIN,
} from './database';
import { END, type Frame, PageRows, RawPages, type RowSource, walFramesOf } from './page-reader';
import type { Row } from './statements';
import { SLOT_CLOCK, SlotClock } from './tables';

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
  *rows(table: NumberedTable): Generator<Row> {
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

  small(table: 'endpoint' | 'meta'): Row[] {
    return this.#readable(`SELECT * FROM ${table}`);
  }

  /** What else stands in its pages, and in its log, read without SQLite. To be called when all that SQLite finds is read. */
  *leafRows(): Generator<RowSource> {
    this.#endReading();
    const pages = new RawPages(this.#copy);
    try {
      if (this.#frames.length > 0) yield new PageRows(pages, this.#frames);
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

  #batch(table: NumberedTable, key: string, after: number): Row[] {
    const sql = `SELECT * FROM ${table} WHERE ${key} > ? AND ${key} < ${END} ORDER BY ${key} LIMIT ${BATCH[table]}`;
    return this.#readable(sql, after);
  }

  /** As many as can be read without a break. */
  #readable(sql: string, ...values: number[]): Row[] {
    const rows: Row[] = [];
    unlessDamaged(() => {
      for (const row of this.#database?.prepare(sql).iterate(...values) ?? []) rows.push(row);
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
const BATCH: Readonly<Record<NumberedTable, number>> = {
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

/** The keys of an inbox, as `meta` has them. */
export const KEYS = ['view-key', 'quarantine-key'] as const;
/** By which a file is known where it was moved to. */
const MOVE_ID = 'move-id';

/** What is read in one go, in rows, and in bytes of their bodies. */
const STEP = 200;
const STEP_BYTES = 4 * 1024 * 1024;

/** What is made of rows, a few at a time. */
function* batchesOf<From, Item>(
  rows: Iterable<From>,
  make: (row: From) => Item,
  bytesOf: (item: Item) => number,
): Generator<Item[]> {
  let batch: Item[] = [];
  let bytes = 0;
  for (const row of rows) {
    const item = make(row);
    batch.push(item);
    bytes += bytesOf(item);
    if (batch.length < STEP && bytes <= STEP_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

const WAITS = `state IN ('received', 'leased')`;
const CAN_BE_HAD_AGAIN = `state = 'dead' AND again IS 'attempts'`;
const UNFINISHED = `(${WAITS} OR (${CAN_BE_HAD_AGAIN}))`;
const COUNTS = countsSql({
  messages: 'message',
  bodies: 'body',
  steps: 'history',
  waiting: `message WHERE ${WAITS}`,
  dead: `message WHERE ${CAN_BE_HAD_AGAIN}`,
  quarantined: 'quarantine',
  endpoints: 'endpoint',
  slots: 'slot WHERE value IS NOT NULL',
});

/** A value that flows keep. */
interface CarriedSlot {
  owner: string;
  name: string;
  version: number;
  value: string;
  /** The time that is left of it, in milliseconds; null where it does not end. */
  left: number | null;
}

/**
 * The file of an inbox, for this process alone until it is closed. Nothing in it is changed but that it gets an id, and the
 * schema of this package.
 */
export class SourceFile {
  /** Of this file, in whatever folder. */
  readonly id: string;
  /** How often an inbox has opened it: another number says that it may have changed. */
  readonly openings: number;
  readonly counts: CarriedCounts;
  /** The last sequence in it. */
  readonly newest: number;
  readonly #database: DatabaseSync;
  /** Events up to this sequence may have been delivered without the file knowing it. */
  readonly #doubtfulUpTo: number;

  /** To be made `alone`. @throws Error as `openDatabase` does */
  constructor(readonly file: string) {
    this.#database = openDatabase(file);
    try {
      this.openings = numberIn(this.meta('openings')) ?? 0;
      this.counts = countsIn(this.#one(COUNTS));
      this.newest = Number(this.#one('SELECT max(sequence) AS newest FROM message')?.['newest'] ?? 0);
      // Put back from a backup: what became of its events since, it does not know.
      const isOlder = this.openings < new OpenCounter(file).seen;
      this.#doubtfulUpTo = isOlder ? this.newest : (numberIn(this.meta(UNCERTAIN)) ?? 0);
      this.id = this.meta(MOVE_ID) ?? this.#named();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** Its clock, in milliseconds. */
  get clock(): number {
    return Math.round(clockIn(this.#database));
  }

  /** The messages of which nothing becomes any more after a sequence, a few at a time, in the order in which they came. */
  finished(after: number): Generator<CarriedRecord[]> {
    return this.#records(`NOT ${UNFINISHED}`, after);
  }

  /** And those that wait, or are dead letters that can be had again. */
  unfinished(): Generator<CarriedRecord[]> {
    return this.#records(UNFINISHED, 0);
  }

  endpoints(): Row[] {
    return this.#database.prepare('SELECT endpoint, node, is_current FROM endpoint').all();
  }

  /** What nothing proved, oldest first: 16 MiB at most. */
  quarantine(): Row[] {
    return this.#database
      .prepare('SELECT endpoint, address, facts, bytes, stored FROM quarantine ORDER BY id')
      .all();
  }

  slotOwners(): Row[] {
    return this.#database.prepare('SELECT owner, version FROM slot_owner').all();
  }

  /** What flows keep, a few at a time. */
  slots(): Generator<CarriedSlot[]> {
    const clock = this.#slotClock();
    const rows = this.#database
      .prepare('SELECT owner, name, version, value, ends FROM slot WHERE value IS NOT NULL')
      .iterate();
    return batchesOf(
      rows,
      (row) => slotOf(row, clock),
      ({ value }) => value.length,
    );
  }

  /** What the file has under this name in `meta`. */
  meta(name: string): string | undefined {
    const value = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.['value'];
    return value === undefined ? undefined : String(value);
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /**
   * Closes it and gives it another name, so that no inbox delivers its events once more. Meanwhile no inbox opens it.
   * @returns its name from now on
   * @throws Error of the disk, or where another process is at the file
   */
  putAside(now: Date): string {
    const aside = `${this.file}${MOVED}${now.toISOString().replace(/[:.]/g, '-')}`;
    alone(this.file, () => {
      this.close();
      fs.renameSync(this.file, aside);
      const folder = path.dirname(this.file);
      // What comes next is a new inbox, and not a copy of this one from which something is missing.
      fs.rmSync(path.join(folder, OPENINGS), { force: true });
      syncFolder(folder);
    });
    return aside;
  }

  #records(condition: string, after: number): Generator<CarriedRecord[]> {
    return batchesOf(
      recordsIn(this.#database, { condition, after }),
      (record) => this.#carried(record),
      ({ bytes }) => bytes?.byteLength ?? 0,
    );
  }

  /** An event that may have been delivered says so, for where it goes nobody else does. */
  #carried(record: CarriedRecord): CarriedRecord {
    const carried = released(record);
    const { state, sequence, facts } = carried;
    const isDoubtful = state === 'received' && sequence <= this.#doubtfulUpTo && facts !== null;
    return isDoubtful ? { ...carried, facts: factsWithWarnings(facts, ['may-repeat']) } : carried;
  }

  /** As Node-RED would have it that starts now. */
  #slotClock(): SlotClock {
    const begun = performance.now();
    return new SlotClock({
      kept: this.meta(SLOT_CLOCK),
      written: Number(this.#one('SELECT max(written) AS written FROM slot')?.['written'] ?? 0),
      monotonic: () => performance.now() - begun,
      wall: Date.now,
    });
  }

  #one(sql: string): Row | undefined {
    return this.#database.prepare(sql).get();
  }

  #named(): string {
    const id = randomUUID();
    this.#database.prepare('INSERT INTO meta VALUES (?, ?)').run(MOVE_ID, id);
    return id;
  }
}

function slotOf({ owner, name, version, value, ends }: Row, clock: SlotClock): CarriedSlot {
  return {
    owner: String(owner),
    name: String(name),
    version: Number(version),
    // What a damaged disk has changed: as the inbox gives it.
    value: isJson(String(value)) ? String(value) : 'null',
    left: typeof ends === 'number' ? ends - clock.now() : null,
  };
}
