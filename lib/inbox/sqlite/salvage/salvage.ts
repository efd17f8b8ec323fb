import fs from 'node:fs';
import { isJson } from '../../../json/is-json';
import path from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { MessageState } from '../../inbox';
import type { Salvaged } from '../../store/protocol';
import { isBusy } from '../../folder-lock';
import { alone, InUseError } from '../alone';
import { alarmKey, messageKey } from '../key';
import { clockIn, DOUBTFUL, IDS_LOST, numberIn } from '../meta';
import { openDatabase } from '../open';
import { Openings } from '../openings';
import type { Row } from '../statements';
import { COLUMNS, type RowSource } from './row-source';
import { removeDatabase, SalvageSource } from './salvage-source';

/**
 * Sets a damaged file aside with its log, and builds a new one of what can be read of it. The new one is built beside it and renamed
 * last: a kill begins anew, or, once it is whole, goes on with the renaming (`finishSalvage`).
 * @throws Error of the disk, or where another process has the file; then the file is where it was
 */
export function salvage(file: string, now: Date): Salvaged {
  return alone(file, () => salvageAlone(file, now));
}

function salvageAlone(file: string, now: Date): Salvaged {
  if (isInUse(file)) throw new InUseError('another process has the file');
  const building = `${file}.salvage`;
  removeDatabase(building);
  try {
    const counts = build(building, file);
    fs.renameSync(building, wholeOf(file));
    syncFolder(path.dirname(file));
    return { ...counts, file: finishSalvage(file, now) ?? file };
  } catch (error) {
    // The disk may be full because of it.
    removeDatabase(building);
    throw error;
  }
}

/** Builds a new file of what can be read of a damaged one. */
function build(building: string, file: string): Counts {
  const target = openDatabase(building);
  const counts = { open: 0, ids: 0, rest: 0 };
  try {
    for (const withLog of [true, false]) {
      const source = new SalvageSource(file, withLog);
      try {
        add(counts, new Salvage(source, target).run());
        for (const rows of source.leafRows()) add(counts, new Salvage(rows, target).run());
      } finally {
        source.close();
      }
    }
    setMeta(target, 'openings', String(new Openings(file).seen));
    setMeta(target, IDS_LOST, String(clockIn(target)));
    setMeta(target, DOUBTFUL, String(newestOf(target)));
    emptyLog(target);
  } finally {
    target.close();
  }
  return counts;
}

/** Puts a file that was salvaged in its place. @returns the name under which the damaged one is kept, where there was one */
export function finishSalvage(file: string, now: Date): string | undefined {
  return alone(file, () => finishAlone(file, now));
}

function finishAlone(file: string, now: Date): string | undefined {
  if (!fs.existsSync(wholeOf(file))) return undefined;
  const kept = `${file}.damaged-${now.toISOString().replace(/[:.]/g, '-')}`;
  // The log first: it must not lie beside the new file.
  for (const end of ['-wal', '']) {
    // Not `existsSync`, which looks where a link leads.
    if (fs.lstatSync(`${file}${end}`, { throwIfNoEntry: false }) !== undefined)
      fs.renameSync(`${file}${end}`, `${kept}${end}`);
  }
  fs.renameSync(wholeOf(file), file);
  syncFolder(path.dirname(file));
  return path.basename(kept);
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

/** Without it a name may be gone after a power loss. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

type Counts = Pick<Salvaged, 'open' | 'ids' | 'rest'>;

function add(counts: Counts, more: Counts): void {
  counts.open += more.open;
  counts.ids += more.ids;
  counts.rest += more.rest;
}

/** What is most needed first: open events, then the ids of the others, then the rest. */
class Salvage {
  readonly #insert: StatementSync;
  readonly #insertBody: StatementSync;
  readonly #isOpen: StatementSync;

  constructor(
    private readonly source: RowSource,
    private readonly target: DatabaseSync,
  ) {
    const columns = [...COLUMNS.message, 'id_key', 'alarm_key'];
    this.#insert = target.prepare(
      `INSERT OR IGNORE INTO message (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    );
    this.#insertBody = target.prepare('INSERT OR IGNORE INTO body (sequence, facts, bytes) VALUES (?, ?, ?)');
    this.#isOpen = target.prepare(
      `SELECT 1 FROM message WHERE sequence = ? AND state IN ('received', 'leased')`,
    );
  }

  run(): Counts {
    const counts = { open: 0, ids: 0, rest: 0 };
    this.#inOne(() => {
      for (const row of this.source.rows('message'))
        if (isOpen(row)) counts.open += this.#message(waiting(row));
    });
    this.#inOne(() => {
      for (const row of this.source.rows('message')) if (!isOpen(row)) counts.ids += this.#message(row);
    });
    this.#inOne(() => {
      for (const row of this.source.rows('body')) counts.rest += this.#body(row);
      this.#quarantine();
      this.#meta();
    });
    return counts;
  }

  #inOne(work: () => void): void {
    this.target.exec('BEGIN IMMEDIATE');
    work();
    this.target.exec('COMMIT');
  }

  /** 1 where it was not there yet. */
  #message(row: Row): number {
    const { station, named, id, alarm } = row;
    if (COLUMNS.message.some((column) => row[column] === undefined)) return 0;
    const own = String(station);
    const keys = [
      messageKey(own, named === 1, String(id)),
      alarm === null ? null : alarmKey(own, String(alarm)),
    ];
    return orNone(() => this.#insert.run(...COLUMNS.message.map((column) => row[column] ?? null), ...keys));
  }

  /** 1 where it was not there yet, and belongs to no open event. */
  #body({ sequence = null, facts, bytes }: Row): number {
    if (typeof facts !== 'string' || !isJson(facts) || !(bytes instanceof Uint8Array)) return 0;
    const isNew = orNone(() => this.#insertBody.run(sequence, facts, bytes));
    return this.#isOpen.get(sequence) === undefined ? isNew : 0;
  }

  #quarantine(): void {
    const insert = this.target.prepare(
      'INSERT OR IGNORE INTO quarantine (id, endpoint, address, facts, bytes, stored) VALUES (?, ?, ?, ?, ?, ?)',
    );
    for (const row of this.source.rows('quarantine'))
      orNone(() => insert.run(...COLUMNS.quarantine.map((column) => row[column] ?? null)));
  }

  #meta(): void {
    for (const name of ['clock', 'sequence']) {
      const value = numberIn(this.source.meta(name));
      if (value !== undefined) setMeta(this.target, name, String(value));
    }
    const key = this.source.meta('quarantine-key');
    if (typeof key === 'string') setMeta(this.target, 'quarantine-key', key);
  }
}

const OVER: readonly unknown[] = ['delivered', 'dead', 'conflict', 'stale', 'other'] satisfies MessageState[];

function isOpen({ state }: Row): boolean {
  return !OVER.includes(state);
}

/** With a state that is none it would neither be delivered nor stand in a list. */
function waiting(row: Row): Row {
  return row['state'] === 'leased' ? row : { ...row, state: 'received' };
}

/** A row whose values have changed may fit no more. */
function orNone(insert: () => { changes: number | bigint }): number {
  try {
    return Number(insert().changes);
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && !UNFIT.includes(Number(error.errcode) % 256))
      throw error;
    return 0;
  }
}

/** Primary result codes of SQLite for a value of the wrong kind: https://sqlite.org/rescode.html */
const UNFIT: readonly number[] = [19, 20];

function newestOf(database: DatabaseSync): number {
  return Number(database.prepare('SELECT max(sequence) AS newest FROM message').get()?.['newest'] ?? 0);
}

function setMeta(database: DatabaseSync, name: string, value: string): void {
  database.prepare('INSERT OR IGNORE INTO meta VALUES (?, ?)').run(name, value);
}
