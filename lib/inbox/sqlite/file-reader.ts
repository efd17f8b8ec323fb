import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type DatabaseSyncOptions, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { isJson } from '../../json/json';
import { type Quarantined, type SlotRow, stepRow, type StepRow } from '../store/port';
import { courseIn, type MovedMessage } from '../store/record';
import { factsWithWarnings } from '../store/stored-message';
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
import { type CarriedTable, COLUMNS } from './carried-rows';
import { END, type Frame, PageRows, RawPages, type RowSource, walFramesOf } from './page-reader';
import { type Row, sequenceIn } from './statements';
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
  *rows(table: CarriedTable): Generator<Row> {
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

  /** As many as can be read without a break. */
  #batch(table: CarriedTable, key: string, after: number): Row[] {
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
const BATCH: Readonly<Record<CarriedTable, number>> = {
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

type SourceRow = Record<string, SQLOutputValue>;

/** An endpoint with a node that has it, or had it before. */
export interface MovedEndpoint {
  endpoint: string;
  node: string;
  isCurrent: boolean;
}

/** What was quarantined, and for how long already, in milliseconds. */
export interface MovedQuarantined extends Quarantined {
  age: number;
}

/** What flows keep of one owner, each with the time that is left of it. */
export interface MovedSlots {
  owner: string;
  slots: SlotRow[];
}

/** The keys of an inbox, as `meta` has them. */
export const KEYS = ['view-key', 'quarantine-key'] as const;
export type KeyName = (typeof KEYS)[number];

/** By which a file is known where it was moved to. */
const MOVE_ID = 'move-id';
/** What is read in one go, in messages, and in bytes of their bodies. */
const STEP = 200;
const STEP_BYTES = 4 * 1024 * 1024;

/** A lease ended with the process that had it: as at the next start. */
const MESSAGE_COLUMNS = `sequence, delivery_id, station, id, named, copy, fingerprint, endpoint, rank, attempt, first, ended, alarm, is_end,
  received, stored, delivered, settled, settled_by, judged, verdict,
  CASE state WHEN 'leased' THEN 'received' ELSE state END AS state,
  CASE state WHEN 'leased' THEN cut_off + at_flow ELSE cut_off END AS cut_off,
  CASE WHEN state = 'leased' AND at_flow = 1 THEN 'restart' ELSE again END AS again`;

const SQL = {
  messages: `SELECT ${MESSAGE_COLUMNS}, facts, bytes FROM message LEFT JOIN body USING (sequence) WHERE sequence > ? ORDER BY sequence`,
  history: 'SELECT place, time, step, attempt, actor, facts FROM history WHERE sequence = ? ORDER BY place',
  count: 'SELECT count(*) AS count, max(sequence) AS newest FROM message',
  countUpTo: 'SELECT count(*) AS count FROM message WHERE sequence <= ?',
  ofSequence: 'SELECT 1 FROM message WHERE sequence = ? AND delivery_id = ?',
  // In the words of its index.
  spilledFirst: `SELECT 1 FROM message WHERE delivery_id = ? AND substr(delivery_id, 15, 1) <> '8'`,
  endpoints: 'SELECT endpoint, node, is_current FROM endpoint ORDER BY endpoint, node',
  quarantine: 'SELECT endpoint, address, facts, bytes, stored FROM quarantine ORDER BY id',
  slots:
    'SELECT owner, name, version, value, ends FROM slot WHERE value IS NOT NULL AND (owner, version) > (?, ?) ORDER BY owner, version',
  slotsWritten: 'SELECT max(written) AS written FROM slot',
  meta: 'SELECT value FROM meta WHERE name = ?',
  setMeta: 'INSERT INTO meta VALUES (?, ?)',
} as const;

/**
 * The file of an inbox, for this process alone until it is closed. Nothing in it is changed but that it gets an id, and the
 * schema of this package.
 */
export class SourceFile {
  /** Of this file, in whatever folder. */
  readonly id: string;
  /** How often an inbox has opened it: another number says that it may have changed. */
  readonly openings: number;
  readonly count: number;
  readonly #database: DatabaseSync;
  readonly #statements: Record<keyof typeof SQL, StatementSync>;
  readonly #clock: number;
  /** Events up to this sequence may have been delivered without the file knowing it. */
  readonly #doubtfulUpTo: number;

  /** To be made `alone`. @throws Error as `openDatabase` does */
  constructor(readonly file: string) {
    this.#database = openDatabase(file);
    try {
      const prepared = Object.entries(SQL).map(([name, sql]) => [name, this.#database.prepare(sql)] as const);
      this.#statements = Object.fromEntries(prepared) as Record<keyof typeof SQL, StatementSync>;
      this.#clock = clockIn(this.#database);
      this.openings = numberIn(this.meta('openings')) ?? 0;
      const { count, newest } = this.#statements.count.get() ?? {};
      this.count = Number(count ?? 0);
      // Put back from a backup: what became of its events since, it does not know.
      const isOlder = this.openings < new OpenCounter(file).seen;
      this.#doubtfulUpTo = isOlder ? Number(newest ?? 0) : (numberIn(this.meta(UNCERTAIN)) ?? 0);
      this.id = this.meta(MOVE_ID) ?? this.#named();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /**
   * All messages after a sequence, a few at a time, in the order in which they came. A batch is read whole before it is given:
   * nothing is being read while the caller asks for something else.
   */
  *messages(after = 0): Generator<MovedMessage[]> {
    for (let batch = this.#batch(after); ; batch = this.#batch(batch.at(-1)?.sequence ?? 0)) {
      if (batch.length === 0) return;
      yield batch;
    }
  }

  /** How many messages of the file there are up to a sequence. */
  countUpTo(sequence: number): number {
    return Number(this.#statements.countUpTo.get(sequence)?.['count'] ?? 0);
  }

  /** Whether a message of this delivery id is in the file. */
  has(deliveryId: string): boolean {
    const sequence = sequenceIn(deliveryId);
    return sequence === undefined
      ? this.#statements.spilledFirst.get(deliveryId) !== undefined
      : this.#statements.ofSequence.get(sequence, deliveryId) !== undefined;
  }

  endpoints(): MovedEndpoint[] {
    return this.#statements.endpoints.all().map((row) => ({
      endpoint: String(row['endpoint']),
      node: String(row['node']),
      isCurrent: row['is_current'] === 1,
    }));
  }

  /** What nothing proved, oldest first: 16 MiB at most. */
  quarantine(): MovedQuarantined[] {
    return this.#statements.quarantine.all().map((row) => ({
      endpoint: String(row['endpoint']),
      address: String(row['address']),
      facts: String(row['facts']),
      bytes: bytesIn(row['bytes']) ?? new Uint8Array(),
      age: this.#age(row),
    }));
  }

  /** What flows keep, a few of one owner at a time; each batch is read whole, as with messages. */
  *slots(): Generator<MovedSlots> {
    const clock = this.#slotClock();
    for (let after = { owner: '', version: 0 }; ;) {
      const batch = this.#slotBatch(after, clock);
      const last = batch.slots.at(-1);
      if (last === undefined) return;
      yield batch;
      after = { owner: batch.owner, version: last.version };
    }
  }

  /** What the file has under this name in `meta`. */
  meta(name: string): string | undefined {
    const value = this.#statements.meta.get(name)?.['value'];
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

  #batch(after: number): MovedMessage[] {
    const batch: MovedMessage[] = [];
    let bytes = 0;
    for (const row of this.#statements.messages.iterate(after)) {
      const message = this.#message(row);
      message.steps = this.#steps(message.sequence);
      batch.push(message);
      bytes += message.bytes?.byteLength ?? 0;
      if (batch.length === STEP || bytes > STEP_BYTES) break;
    }
    return batch;
  }

  #slotBatch(after: { owner: string; version: number }, clock: SlotClock): MovedSlots {
    const slots: SlotRow[] = [];
    let size = 0;
    let owner: string | undefined;
    for (const row of this.#statements.slots.iterate(after.owner, after.version)) {
      owner ??= String(row['owner']);
      if (owner !== row['owner'] || slots.length === STEP || size > STEP_BYTES) break;
      const slot = slotOf(row, clock);
      slots.push(slot);
      size += slot.value?.length ?? 0;
    }
    return { owner: owner ?? '', slots };
  }

  #message(row: SourceRow): MovedMessage {
    const { alarm = null, again = null } = row;
    return {
      sequence: Number(row['sequence']),
      deliveryId: String(row['delivery_id']),
      station: String(row['station']),
      id: String(row['id']),
      named: row['named'] === 1,
      copy: Number(row['copy']),
      fingerprint: String(row['fingerprint']),
      endpoint: String(row['endpoint']),
      state: String(row['state']) as MovedMessage['state'],
      rank: row['rank'] === 1 ? 1 : 0,
      attempt: Number(row['attempt']),
      cutOff: Number(row['cut_off']),
      again: again as MovedMessage['again'],
      first: row['first'] === 1,
      ended: row['ended'] === 1,
      alarm: alarm === null ? null : String(alarm),
      isEnd: row['is_end'] === 1,
      received: Number(row['received']),
      age: this.#age(row),
      facts: this.#facts(row),
      bytes: bytesIn(row['bytes']),
      ...courseIn(row),
      steps: [],
    };
  }

  #steps(sequence: number): StepRow[] {
    return this.#statements.history
      .all(sequence)
      .map(({ place, time, step, attempt, actor, facts }) =>
        stepRow({ place, time, step, attempt, actor, facts }),
      );
  }

  /** Those of an event that may have been delivered say so, for where they go nobody else does. */
  #facts({ facts, state, sequence }: SourceRow): string | null {
    if (typeof facts !== 'string') return null;
    const isDoubtful = state === 'received' && Number(sequence) <= this.#doubtfulUpTo;
    return isDoubtful ? factsWithWarnings(facts, ['may-repeat']) : facts;
  }

  /** As Node-RED would have it that starts now. */
  #slotClock(): SlotClock {
    const begun = performance.now();
    return new SlotClock({
      kept: this.meta(SLOT_CLOCK),
      written: Number(this.#statements.slotsWritten.get()?.['written'] ?? 0),
      monotonic: () => performance.now() - begun,
      wall: Date.now,
    });
  }

  #age(row: SourceRow): number {
    return Math.round(this.#clock) - Number(row['stored']);
  }

  #named(): string {
    const id = randomUUID();
    this.#statements.setMeta.run(MOVE_ID, id);
    return id;
  }
}

function slotOf({ name, version, value, ends }: SourceRow, clock: SlotClock): SlotRow {
  return {
    name: String(name),
    version: Number(version),
    // What a damaged disk has changed: as the inbox gives it.
    value: isJson(String(value)) ? String(value) : 'null',
    ...(typeof ends === 'number' && { left: ends - clock.now() }),
  };
}

function bytesIn(value: SQLOutputValue | undefined): Uint8Array | null {
  return value instanceof Uint8Array ? value : null;
}
