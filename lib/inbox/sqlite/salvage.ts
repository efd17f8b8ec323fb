import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { isJson } from '../../json/json';
import type { MessageState, Salvaged } from '../model';
import {
  alone,
  BEYOND_LOST,
  clockIn,
  DamagedError,
  faultText,
  FileInUseError,
  freeOf,
  IDS_LOST,
  isBusy,
  isMisread,
  numberIn,
  OpenCounter,
  openDatabase,
  sizeOf,
  syncFolder,
  UNCERTAIN,
} from './database';
import { removeDatabase, SalvageSource } from './file-reader';
import { alarmKey, messageKey } from './known-ids';
import { COLUMNS, isLogDamaged, type RowSource, type SalvagedTable } from './page-reader';
import { makeDeliveryId, type Row } from './statements';
import { SLOT_CLOCK } from './tables';

/**
 * The messages of another file of the inbox, on their way into one that has messages already: by id. What is known there stays
 * as it is; the others keep sequence and delivery id, unless another message has that sequence by now.
 */
class Newcomers {
  /** By key of the id. */
  readonly #known = new Set<number>();
  /** By the sequence in the other file: that in this one. */
  readonly #sequences = new Map<number, number>();
  /** Numbers of the entries of the history that have come. */
  readonly #entries = new Set<number>();
  readonly #taken: StatementSync;
  #newest: number;

  constructor(
    private readonly target: DatabaseSync,
    newest: number,
  ) {
    this.#newest = newest;
    this.#taken = target.prepare('SELECT 1 FROM message WHERE sequence = ?');
    for (const { id_key: key } of target.prepare('SELECT id_key FROM message').iterate())
      this.#known.add(Number(key));
  }

  /** The row as it enters; undefined where its message is known. @param row with its key */
  message(row: Row): Row | undefined {
    const from = Number(row['sequence']);
    const key = Number(row['id_key']);
    if (this.#known.has(key)) return undefined;
    this.#known.add(key);
    const isTaken = this.#taken.get(from) !== undefined;
    if (isTaken) this.#newest += 1;
    const sequence = isTaken ? this.#newest : from;
    this.#sequences.set(from, sequence);
    this.#newest = Math.max(this.#newest, sequence);
    if (!isTaken) return row;
    return { ...row, sequence, delivery_id: makeDeliveryId(sequence, Number(row['received'])) };
  }

  /** What belongs to a message that has entered, under its sequence; undefined of any other. */
  partOf(row: Row): Row | undefined {
    const sequence = this.#sequences.get(Number(row['sequence']));
    return sequence === undefined ? undefined : { ...row, sequence };
  }

  /** An entry of the history of such a message, once. */
  entryOf(row: Row): Row | undefined {
    const number = Number(row['number']);
    if (this.#entries.has(number)) return undefined;
    this.#entries.add(number);
    const entry = this.partOf(row);
    return entry && { ...entry, number: null };
  }

  /** Nobody knows what became of them since. */
  finish(): void {
    if (this.#sequences.size === 0) return;
    this.target.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(UNCERTAIN, String(this.#newest));
  }

  /** So many of the messages that have entered. @param sql what is counted of them */
  count(sql: string): number {
    const one = this.target.prepare(`SELECT count(*) AS n FROM ${sql} AND sequence = ?`);
    let sum = 0;
    for (const sequence of this.#sequences.values()) sum += Number(one.get(sequence)?.['n']);
    return sum;
  }
}

/** Added to the last version of an owner that was found: there may have been later ones, in what is lost. */
const SLOTS_BEYOND_LOST = 1_000_000;

/** Puts slots that were read of a damaged file into a new one. Of several rows of one slot, old ones among them, the latest counts. */
class SalvagedSlots {
  readonly #insert: StatementSync;

  constructor(private readonly target: DatabaseSync) {
    this.#insert =
      target.prepare(`INSERT INTO slot (owner, name, version, value, ends, written) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (owner, name) DO UPDATE SET version = excluded.version, value = excluded.value, ends = excluded.ends,
        written = excluded.written WHERE excluded.version > slot.version`);
  }

  /** @throws Error of SQLite where its values fit no more */
  add({ owner = null, name = null, version = null, value = null, ends = null, written = null }: Row): void {
    if (value !== null && !(typeof value === 'string' && isJson(value))) return;
    this.#insert.run(owner, name, version, value, ends, written);
  }

  /** Once all are there. Whoever asks for what has changed since a version is given all: nobody knows what else has. */
  finish(): void {
    this.target.exec(`INSERT INTO slot_owner (owner, version, forgotten)
      SELECT owner, max(version) + ${SLOTS_BEYOND_LOST}, max(version) + ${SLOTS_BEYOND_LOST} FROM slot GROUP BY owner`);
  }
}

/**
 * Sets a damaged file aside with its log, and builds a new one of what can be read of it. The new one is built beside it and
 * renamed last: a kill begins anew, or, once it is whole, goes on with the renaming (`finishSalvage`).
 * @throws Error of the disk, or where another process has the file; then the file is where it was
 */
export function salvage(file: string, now: Date): Salvaged {
  return alone(file, () => salvageAlone(file, now));
}

function salvageAlone(file: string, now: Date): Salvaged {
  if (isInUse(file)) throw new FileInUseError('another process has the file');
  const building = `${file}.salvage`;
  removeDatabase(building);
  try {
    build(building, file);
    fs.renameSync(building, wholeOf(file));
    syncFolder(path.dirname(file));
  } catch (error) {
    // The disk may be full because of it.
    removeDatabase(building);
    throw error;
  }
  return finishAlone(file, now) ?? { open: 0, ids: 0, rest: 0, file };
}

/** Free room that it takes, in sizes of the file: a copy of it to read from, the new one, and the log of that. */
const ROOM = 3;

/** @throws Error where the disk has no room for a salvage: it would be full while it lasts */
export function checkRoom(file: string): void {
  const needed = ROOM * (sizeOf(file) + sizeOf(`${file}-wal`));
  if (freeOf(path.dirname(file)) > needed) return;
  const megabytes = Math.ceil(needed / 1_000_000);
  throw new Error(
    `its file is damaged, and to salvage it ${megabytes} MB must be free on its disk: make room`,
  );
}

/** Builds a new file of what can be read of a damaged one. */
function build(building: string, file: string): void {
  const target = openDatabase(building);
  try {
    for (const withLog of [true, false]) readAll(file, withLog, (rows) => new Salvage(rows, target).run());
    new SalvagedSlots(target).finish();
    addMeta(target, 'sequence', '0');
    const newest = newestOf(target);
    addMeta(target, 'openings', String(new OpenCounter(file).seen));
    addMeta(target, IDS_LOST, String(clockIn(target)));
    addMeta(target, UNCERTAIN, String(newest));
    target.prepare(`UPDATE meta SET value = ? WHERE name = 'sequence'`).run(String(newest + BEYOND_LOST));
    emptyLog(target);
  } finally {
    target.close();
  }
}

/**
 * Gives a database that is open, and whose file has lost its name, a file under that name again; and another one that stands
 * there is set aside, when what it alone has is taken in. The new one is whole, and on the disk, before anything else is
 * changed.
 * @param open stays open: its file may be gone with it
 * @returns what was taken in; undefined where there was no other file
 * @throws Error of the disk, or where another process has the other file
 */
export function writeAnew(
  file: string,
  open: { copyTo: (file: string) => void; hasLog: boolean },
  now: Date,
): Salvaged | undefined {
  return alone(file, () => {
    const isOther = sizeOf(file) > 0;
    if (isOther && isInUse(file)) throw new FileInUseError('another process has the file');
    const building = `${file}.salvage`;
    removeDatabase(building);
    let counts: Counts | undefined;
    try {
      fs.writeFileSync(building, '', { mode: 0o600 });
      open.copyTo(building);
      if (isOther) counts = takeIn(building, file, open.hasLog ? [false] : [true, false]);
      syncFile(building);
      fs.renameSync(building, wholeOf(file));
      syncFolder(path.dirname(file));
    } catch (error) {
      removeDatabase(building);
      throw error;
    }
    // That of what is open: all of it is in the new file.
    if (open.hasLog) fs.rmSync(`${file}-wal`, { force: true });
    const kept = finishAlone(file, now, 'found')?.file ?? '';
    return counts && { ...counts, file: kept };
  });
}

/** @param logs whether to read it with its log, for each time that it is read */
function takeIn(building: string, file: string, logs: readonly boolean[]): Counts {
  const target = openDatabase(building);
  try {
    const newcomers = new Newcomers(target, newestOf(target));
    for (const withLog of logs) readAll(file, withLog, (rows) => new Salvage(rows, target, newcomers).run());
    newcomers.finish();
    emptyLog(target);
    return countsOf((sql) => newcomers.count(sql));
  } finally {
    target.close();
  }
}

/** All that can be read of a file, what SQLite finds first. */
function readAll(file: string, withLog: boolean, read: (rows: RowSource) => void): void {
  const source = new SalvageSource(file, withLog);
  try {
    read(source);
    for (const rows of source.leafRows()) read(rows);
  } finally {
    source.close();
  }
}

/** No database of this process may have it: closing a descriptor of a file ends the locks on it. */
function syncFile(file: string): void {
  const handle = fs.openSync(file, 'r+');
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

/** Puts a file that was salvaged in its place. @returns what was salvaged; undefined where nothing was */
export function finishSalvage(file: string, now: Date): Salvaged | undefined {
  return alone(file, () => finishAlone(file, now));
}

/** Whether a file was salvaged that is not in its place yet. */
function isSalvaging(file: string): boolean {
  return fs.existsSync(wholeOf(file));
}

/** @param why as what the file that was there is kept */
function finishAlone(file: string, now: Date, why = 'damaged'): Salvaged | undefined {
  if (!isSalvaging(file)) return undefined;
  const counts = countsIn(wholeOf(file));
  const kept = `${file}.${why}-${now.toISOString().replace(/[:.]/g, '-')}`;
  // The log first: it must not lie beside the new file.
  for (const end of ['-wal', '']) {
    // Not `existsSync`, which looks where a link leads.
    if (fs.lstatSync(`${file}${end}`, { throwIfNoEntry: false }) !== undefined)
      fs.renameSync(`${file}${end}`, `${kept}${end}`);
  }
  fs.renameSync(wholeOf(file), file);
  syncFolder(path.dirname(file));
  return { ...counts, file: path.basename(kept) };
}

function countsIn(file: string): Counts {
  const database = new DatabaseSync(file);
  const count = (sql: string): number =>
    Number(database.prepare(`SELECT count(*) AS n FROM ${sql}`).get()?.['n']);
  try {
    // Before anything is read, so that no shared memory is needed.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    return countsOf(count);
  } finally {
    database.close();
  }
}

function countsOf(count: (sql: string) => number): Counts {
  return {
    open: count(`message WHERE ${IS_OPEN}`),
    ids: count(`message WHERE NOT (${IS_OPEN})`),
    rest: count(`body JOIN message USING (sequence) WHERE NOT (${IS_OPEN})`),
  };
}

function wholeOf(file: string): string {
  return `${file}.salvaged`;
}

/** It is renamed without its log. */
function emptyLog(database: DatabaseSync): void {
  const { busy, log } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {};
  if (busy !== 0 || log !== 0) throw new Error('what was salvaged could not be written');
}

/** Read only, for nothing may change: with the damage found while it was open, another may have opened it since. */
function isInUse(file: string): boolean {
  // SQLite would delete the log of an empty one.
  if (sizeOf(file) === 0) return false;
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      database.exec('PRAGMA locking_mode = EXCLUSIVE');
      database.prepare('PRAGMA schema_version').get();
    } finally {
      database.close();
    }
  } catch (error) {
    return isBusy(error);
  }
  return false;
}

type Counts = Pick<Salvaged, 'open' | 'ids' | 'rest'>;

/** What is most needed first: open events, then the ids of the others, then the rest. */
class Salvage {
  readonly #insert: StatementSync;

  constructor(
    private readonly source: RowSource,
    private readonly target: DatabaseSync,
    /** Of a file that is not the only one. */
    private readonly newcomers?: Newcomers,
  ) {
    this.#insert = this.#insertInto('message', COLUMNS.message);
  }

  run(): void {
    this.#inOne(() => {
      for (const row of this.source.rows('message')) if (isOpen(row)) this.#message(waiting(row));
    });
    this.#inOne(() => {
      for (const row of this.source.rows('message')) if (!isOpen(row)) this.#message(row);
    });
    this.#inOne(() => {
      this.#bodies();
      this.#history();
      if (this.newcomers !== undefined) return;
      this.#quarantine();
      this.#slots();
      this.#meta();
    });
  }

  #insertInto(table: SalvagedTable, columns: readonly string[]): StatementSync {
    const values = columns.map(() => '?').join(', ');
    return this.target.prepare(`INSERT OR IGNORE INTO ${table} (${columns.join(', ')}) VALUES (${values})`);
  }

  #inOne(work: () => void): void {
    this.target.exec('BEGIN IMMEDIATE');
    work();
    this.target.exec('COMMIT');
  }

  #message(row: Row): void {
    const { station, named, id, alarm } = row;
    const own = String(station);
    const keyed = {
      ...row,
      id_key: messageKey(own, named === 1, String(id)),
      alarm_key: alarm === null ? null : alarmKey(own, String(alarm)),
    };
    const entering = this.newcomers === undefined ? keyed : this.newcomers.message(keyed);
    if (entering !== undefined) unlessUnfit(() => this.#insert.run(...valuesOf('message', entering)));
  }

  #bodies(): void {
    const insert = this.#insertInto('body', COLUMNS.body);
    for (const read of this.source.rows('body')) {
      const row = this.newcomers === undefined ? read : this.newcomers.partOf(read);
      const facts = row?.['facts'];
      if (row !== undefined && typeof facts === 'string' && isJson(facts))
        unlessUnfit(() => insert.run(...valuesOf('body', row)));
    }
  }

  #history(): void {
    const insert = this.#insertInto('history', COLUMNS.history);
    for (const read of this.source.rows('history')) {
      const row = this.newcomers === undefined ? read : this.newcomers.entryOf(read);
      const facts = row?.['facts'] ?? null;
      const isSound = facts === null || (typeof facts === 'string' && isJson(facts));
      if (isSound && row !== undefined) unlessUnfit(() => insert.run(...valuesOf('history', row)));
    }
  }

  #quarantine(): void {
    const insert = this.#insertInto('quarantine', COLUMNS.quarantine);
    for (const row of this.source.rows('quarantine'))
      unlessUnfit(() => insert.run(...valuesOf('quarantine', row)));
  }

  #slots(): void {
    const slots = new SalvagedSlots(this.target);
    for (const row of this.source.rows('slot')) unlessUnfit(() => slots.add(row));
  }

  #meta(): void {
    for (const name of ['clock', 'sequence']) {
      const value = numberIn(this.source.meta(name));
      if (value !== undefined) addMeta(this.target, name, String(value));
    }
    for (const name of ['quarantine-key', 'view-key', SLOT_CLOCK]) {
      const key = this.source.meta(name);
      if (typeof key === 'string') addMeta(this.target, name, key);
    }
  }
}

const IS_OPEN = `state IN ('received', 'leased')`;
const OVER: readonly unknown[] = [
  'delivered',
  'dead',
  'conflict',
  'stale',
  'filtered',
  'other',
] satisfies MessageState[];

function isOpen({ state }: Row): boolean {
  return !OVER.includes(state);
}

/** With a state that is none it would neither be delivered nor stand in a list. */
function waiting(row: Row): Row {
  return row['state'] === 'leased' ? row : { ...row, state: 'received' };
}

function valuesOf(table: SalvagedTable, row: Row): SQLOutputValue[] {
  return COLUMNS[table].map((column) => row[column] ?? null);
}

/** A row whose values have changed may fit no more, nor one to which nothing belongs. */
function unlessUnfit(insert: () => void): void {
  try {
    insert();
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && !UNFIT.includes(Number(error.errcode) % 256))
      throw error;
  }
}

/** Primary result codes of SQLite for a value of the wrong kind: https://sqlite.org/rescode.html */
const UNFIT: readonly number[] = [19, 20];

/** Of what was found, or known to have been given. */
function newestOf(database: DatabaseSync): number {
  const found = database.prepare('SELECT max(sequence) AS newest FROM message').get()?.['newest'];
  const known = database.prepare(`SELECT value FROM meta WHERE name = 'sequence'`).get()?.['value'];
  return Math.max(Number(found ?? 0), numberIn(known) ?? 0);
}

/** What stands there already stays. */
function addMeta(database: DatabaseSync, name: string, value: string): void {
  database.prepare('INSERT OR IGNORE INTO meta VALUES (?, ?)').run(name, value);
}

/**
 * Opens the file of an inbox for a program beside Node-RED, which must not have it meanwhile.
 * @throws Error of which `offlineFault` says what to do
 */
export function openOffline<Opened>(file: string, open: () => Opened): Opened {
  return alone(file, () => {
    if (isInUse(file)) throw new FileInUseError('another process has the file');
    // The log is read before SQLite opens it, which would leave out what it cannot read, without a word.
    if (isSalvaging(file) || isLogDamaged(file)) throw new DamagedError('its log');
    return open();
  });
}

/** What failed while the file was opened or read, and what to do, as the end of a sentence. */
export function offlineFault(error: unknown, folder: string): string {
  if (isBusy(error)) return `Node-RED has the inbox in ${folder}: stop it, and run this again`;
  if (!isMisread(error)) return faultText(error);
  return `the file in ${folder} is damaged: start Node-RED once, which salvages it, stop it, and run this again`;
}
