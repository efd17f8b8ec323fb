import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { isJson } from '../../json/json';
import type { MessageState, Salvaged } from '../model';
import { released } from '../store/carried-record';
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
  isUnfit,
  KEYS,
  metaIn,
  numberIn,
  openDatabase,
  openingsBeside,
  sizeOf,
  syncFile,
  syncFolder,
  UNCERTAIN,
} from './database';
import { CarriedRows, type NumberedTable, recordsIn } from './carried-rows';
import { messageKey } from './known-ids';
import { isLogDamaged, removeDatabase, type RowSource, SalvageSource } from './page-reader';
import { makeDeliveryId, type Row } from './statements';
import { SLOT_CLOCK } from './tables';

/** Added to the last version of an owner that was found: there may have been later ones, in what is lost. */
const SLOTS_BEYOND_LOST = 1_000_000;

/**
 * Sets a damaged file aside with its log, and builds a new one of what can be read of it. The new one is built beside it and
 * renamed last: a kill begins anew, or, once it is whole, goes on with the renaming (`finishSalvage`).
 * @throws Error of the disk, or where another process has the file; then the file is where it was
 */
export function salvage(file: string, now: Date): Salvaged {
  return alone(file, () => {
    refuseInUse(file);
    putBeside(file, (building) => build(building, file));
    return finishSalvage(file, now) ?? { open: 0, ids: 0, rest: 0, file };
  });
}

/** Puts a whole file beside the one that it is to replace; or none, for the disk may be full because of it. */
function putBeside(file: string, make: (building: string) => void): void {
  const building = `${file}.salvage`;
  removeDatabase(building);
  try {
    make(building);
    fs.renameSync(building, wholeOf(file));
    syncFolder(path.dirname(file));
  } catch (error) {
    removeDatabase(building);
    throw error;
  }
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

/**
 * Builds a new file of what can be read of another one, what SQLite finds first.
 * @param logs whether to read it with its log, for each time that it is read
 */
function build(building: string, file: string, logs: readonly boolean[] = [true, false]): void {
  const target = openDatabase(building);
  try {
    for (const withLog of logs) {
      const source = new SalvageSource(file, withLog);
      try {
        salvageRows(source, target);
        for (const rows of source.leafRows()) salvageRows(rows, target);
      } finally {
        source.close();
      }
    }
    // Whoever asks for what has changed since a version is given all: nobody knows what else has.
    target.exec(`INSERT INTO slot_owner (owner, version, forgotten)
      SELECT owner, max(version) + ${SLOTS_BEYOND_LOST}, max(version) + ${SLOTS_BEYOND_LOST} FROM slot GROUP BY owner`);
    addMeta(target, 'sequence', '0');
    const newest = newestOf(target);
    addMeta(target, 'openings', String(openingsBeside(file)));
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
    refuseInUse(file);
    let counts: Counts | undefined;
    putBeside(file, (building) => {
      fs.writeFileSync(building, '', { mode: 0o600 });
      open.copyTo(building);
      if (sizeOf(file) > 0) counts = takeIn(building, file, open.hasLog ? [false] : [true, false]);
      syncFile(building);
    });
    // That of what is open: all of it is in the new file.
    if (open.hasLog) fs.rmSync(`${file}-wal`, { force: true });
    const kept = finishSalvage(file, now, 'found')?.file ?? '';
    return counts && { ...counts, file: kept };
  });
}

/**
 * Takes the messages of another file of the inbox into one that has messages already: by id. What is known there stays as it
 * is; the others keep sequence and delivery id, unless another message has that sequence by now.
 */
function takeIn(building: string, file: string, logs: readonly boolean[]): Counts {
  const found = `${building}-found`;
  removeDatabase(found);
  try {
    build(found, file, logs);
    const source = openDatabase(found);
    const target = openDatabase(building);
    try {
      return takeRecords(source, target);
    } finally {
      source.close();
      target.close();
    }
  } finally {
    removeDatabase(found);
  }
}

function takeRecords(source: DatabaseSync, target: DatabaseSync): Counts {
  const counts: Counts = { open: 0, ids: 0, rest: 0 };
  const rows = new CarriedRows(target);
  const keys = target.prepare('SELECT id_key FROM message').all();
  const known = new Set(keys.map((row) => row['id_key']));
  let newest = newestOf(target);
  target.exec('BEGIN IMMEDIATE');
  for (const read of recordsIn(source)) {
    const record = released(read);
    const { sequence, received, station, named, id, facts } = record;
    if (known.has(messageKey(station, named === 1, id))) continue;
    newest = Math.max(newest, sequence);
    if (!rows.write(record)) {
      newest += 1;
      rows.write({ ...record, sequence: newest, delivery_id: makeDeliveryId(newest, received) });
    }
    counts[isOpen(record) ? 'open' : 'ids'] += 1;
    if (!isOpen(record) && facts !== null) counts.rest += 1;
  }
  // Nobody knows what became of them since.
  if (counts.open + counts.ids > 0)
    target.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(UNCERTAIN, String(newest));
  target.exec('COMMIT');
  emptyLog(target);
  return counts;
}

/**
 * Puts a file that was salvaged in its place, while the caller is `alone` with it.
 * @param why as what the file that was there is kept
 * @returns what was salvaged; undefined where nothing was
 */
export function finishSalvage(file: string, now: Date, why = 'damaged'): Salvaged | undefined {
  if (!fs.existsSync(wholeOf(file))) return undefined;
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
    return {
      open: count(`message WHERE ${IS_OPEN}`),
      ids: count(`message WHERE NOT (${IS_OPEN})`),
      rest: count(`body JOIN message USING (sequence) WHERE NOT (${IS_OPEN})`),
    };
  } finally {
    database.close();
  }
}

/** A file that was salvaged, and is not in its place yet. */
function wholeOf(file: string): string {
  return `${file}.salvaged`;
}

/** It is renamed without its log. */
function emptyLog(database: DatabaseSync): void {
  const { busy, log } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() ?? {};
  if (busy !== 0 || log !== 0) throw new Error('what was salvaged could not be written');
}

/**
 * Read only, for nothing may change: with the damage found while it was open, another may have opened it since.
 * @throws FileInUseError where another process has it
 */
function refuseInUse(file: string): void {
  // SQLite would delete the log of an empty one.
  if (sizeOf(file) === 0) return;
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      database.exec('PRAGMA locking_mode = EXCLUSIVE');
      database.prepare('PRAGMA schema_version').get();
    } finally {
      database.close();
    }
  } catch (error) {
    if (isBusy(error)) throw new FileInUseError('another process has the file');
  }
}

type Counts = Pick<Salvaged, 'open' | 'ids' | 'rest'>;

/**
 * Puts what can be read of a damaged file in one way into a new one: what is most needed first, open events, then the ids of the
 * others, then the rest.
 */
function salvageRows(source: RowSource, target: DatabaseSync): void {
  const rows = new CarriedRows(target);
  // Of several rows of one slot, old ones among them, the latest counts.
  const insertSlot = target.prepare(`INSERT INTO slot (${OF_SLOT.join(', ')}) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (owner, name) DO UPDATE SET version = excluded.version, value = excluded.value, ends = excluded.ends,
      written = excluded.written WHERE excluded.version > slot.version`);
  const addSlot = (row: Row): unknown => insertSlot.run(...OF_SLOT.map((column) => row[column] ?? null));
  const each = (table: NumberedTable, take: (row: Row) => unknown): void => {
    for (const row of source.rows(table)) unlessUnfit(() => take(row));
  };
  inOne(target, () => each('message', (row) => isOpen(row) && rows.add('message', waiting(row))));
  inOne(target, () => each('message', (row) => !isOpen(row) && rows.add('message', row)));
  inOne(target, () => {
    for (const table of ['body', 'history', 'quarantine'] as const)
      each(table, (row) => isSound(row['facts']) && rows.add(table, row));
    each('slot', (row) => isSound(row['value']) && addSlot(row));
    for (const { name, value } of source.small('meta')) {
      const isSoundNumber = NUMBERS.includes(name) && numberIn(value) !== undefined;
      if (isSoundNumber || TEXTS.includes(name)) addMeta(target, String(name), String(value));
    }
    // Not those of the file without its log, where they can be read with it: a node may have left one since.
    if (target.prepare('SELECT 1 FROM endpoint').get() !== undefined) return;
    for (const row of source.small('endpoint')) unlessUnfit(() => rows.add('endpoint', row));
  });
}

function inOne(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  work();
  database.exec('COMMIT');
}

const OF_SLOT = ['owner', 'name', 'version', 'value', 'ends', 'written'] as const;
const NUMBERS: readonly unknown[] = ['clock', 'sequence'];
const TEXTS: readonly unknown[] = [...KEYS, SLOT_CLOCK];

/** JSON, or nothing: of a byte that has changed SQLite knows nothing. */
function isSound(json: SQLOutputValue | undefined): boolean {
  return json === null || (typeof json === 'string' && isJson(json));
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

function isOpen({ state }: { state?: unknown }): boolean {
  return !OVER.includes(state);
}

/** With a state that is none it would neither be delivered nor stand in a list. */
function waiting(row: Row): Row {
  return row['state'] === 'leased' ? row : { ...row, state: 'received' };
}

/** A row whose values have changed may fit no more, nor one to which nothing belongs. */
function unlessUnfit(insert: () => void): void {
  try {
    insert();
  } catch (error) {
    if (!isUnfit(error)) throw error;
  }
}

/** Of what was found, or known to have been given. */
function newestOf(database: DatabaseSync): number {
  const found = database.prepare('SELECT max(sequence) AS newest FROM message').get()?.['newest'];
  return Math.max(Number(found ?? 0), numberIn(metaIn(database, 'sequence')) ?? 0);
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
    refuseInUse(file);
    // The log is read before SQLite opens it, which would leave out what it cannot read, without a word.
    if (fs.existsSync(wholeOf(file)) || isLogDamaged(file)) throw new DamagedError('its log');
    return open();
  });
}

/** What failed while the file was opened or read, and what to do, as the end of a sentence. */
export function offlineFault(error: unknown, folder: string): string {
  if (isBusy(error)) return `Node-RED has the inbox in ${folder}: stop it, and run this again`;
  if (!isMisread(error)) return faultText(error);
  return `the file in ${folder} is damaged: start Node-RED once, which salvages it, stop it, and run this again`;
}
