import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { RvmError } from '../../error';
import { isJson } from '../../json/json';
import { INBOX_FILE } from '../model';
import { connect } from '../postgres/connect';
import type { ConnectionSettings } from '../postgres/connection-settings';
import { migrate } from '../postgres/schema';
import { faultText } from '../postgres/session';
import { hasSpilledMessages } from '../spare/spare-folder';
import { recordsIn } from '../sqlite/carried-rows';
import {
  alone,
  clockIn,
  DamagedError,
  KEYS,
  metaIn,
  MOVED,
  numberIn,
  openDatabase,
  OPENINGS,
  openingsBeside,
  syncFolder,
  UNCERTAIN,
  wasMoved,
} from '../sqlite/database';
import { offlineFault, openOffline } from '../sqlite/salvage';
import type { Row } from '../sqlite/statements';
import { SlotClock } from '../sqlite/tables';
import {
  type CarriedCounts,
  type CarriedRecord,
  countsIn,
  countsSql,
  released,
} from '../store/carried-record';
import { reasonOf, storeFailed } from '../store/port';
import { factsWithWarnings } from '../store/stored-message';
import { type MoveProgress, Target, type TargetState } from './into-postgres';

export interface MoveOptions {
  /** The folder of the inbox. */
  folder: string;
  settings: ConnectionSettings;
  /** Told how many of its messages are copied. */
  onProgress?: (copied: number, of: number) => void;
}

/** What was moved: as much is in the database as was in the file. */
export interface Moved extends CarriedCounts {
  /** Under which name the file is kept. */
  aside: string;
}

/**
 * Moves the inbox of a file into a schema of PostgreSQL that no instance uses yet. Until one transaction that brings what is
 * open the file counts, and nothing of it is delivered from there. Where it is ended before its end, it goes on at the next call.
 * @returns `already` where it was moved before, and only the name of the file was missing
 * @throws RvmError STORE_FAILED
 */
export async function moveInbox(options: MoveOptions): Promise<Moved | 'already'> {
  const source = openSource(options.folder);
  if (source === undefined) return 'already';
  try {
    return await moveTo(source, options);
  } finally {
    source.close();
  }
}

async function moveTo(source: SourceFile, options: MoveOptions): Promise<Moved | 'already'> {
  const { folder, settings } = options;
  const { session } = await connect(settings, 'move').catch((error: unknown) => {
    throw writingFailed(error);
  });
  const target = new Target(session, settings.schema);
  try {
    await migrate(session, settings.schema);
    return await new Move(source, target, options).run();
  } catch (error) {
    throw isOfFile(error) ? unmovable(offlineFault(error, folder)) : writingFailed(error);
  } finally {
    await session.close();
  }
}

/** One file on its way. What is copied and how far that has come are one transaction: nothing of it is lost or done twice. */
class Move {
  constructor(
    private readonly source: SourceFile,
    private readonly target: Target,
    private readonly options: MoveOptions,
  ) {}

  /** @throws Error of `pg`, and of SQLite; RvmError STORE_FAILED */
  async run(): Promise<Moved | 'already'> {
    const { source, target } = this;
    const state = await target.state(source.id);
    const { progress } = state;
    const isUnchanged = progress?.openings === source.openings;
    if (progress?.isDone === true && isUnchanged) {
      // Written once more, so that it is as durable as the rest before the file goes.
      await target.transaction(true, () => target.setProgress(source.id, progress));
      this.#putAside();
      return 'already';
    }
    this.#refuseUsed(state, progress);
    const copied = await this.#copyFinished(isUnchanged ? progress : await this.#begin(progress));
    await this.#takeOver(copied);
    return { ...source.counts, aside: this.#putAside() };
  }

  /** There may be what this move has brought so far, and nothing else. */
  #refuseUsed({ isUsed, messages }: TargetState, brought: MoveProgress | undefined): void {
    if (!isUsed && brought?.isDone !== true && messages === (brought?.messages ?? 0)) return;
    throw storeFailed(
      `the schema "${this.options.settings.schema}" of the database is used by an inbox already: name another one with --schema, and enter that in the inbox`,
    );
  }

  /** From the first message on: what an earlier run has brought of a file that has changed since is brought once more. */
  #begin(brought: MoveProgress | undefined): Promise<MoveProgress> {
    const { source, target } = this;
    const progress = { copied: 0, messages: 0, openings: source.openings, isDone: false };
    return target.transaction(false, async () => {
      await target.lock();
      // Or what an instance has accepted meanwhile would be removed.
      this.#refuseUsed(await target.state(source.id), brought);
      await target.clear(source.newest);
      await target.setProgress(source.id, progress);
      return progress;
    });
  }

  /** Nothing becomes of these any more: an instance that should come too early delivers none of them. */
  async #copyFinished(begun: MoveProgress): Promise<MoveProgress> {
    const { source, target } = this;
    let progress = begun;
    for (const batch of source.finished(begun.copied)) {
      const copied = batch.at(-1)?.sequence ?? progress.copied;
      progress = { ...progress, copied, messages: progress.messages + batch.length };
      await target.transaction(false, async () => {
        await target.add(batch);
        await target.setProgress(source.id, progress);
      });
      this.#tell(progress.messages);
    }
    return progress;
  }

  /** Before this transaction the file counts, after it the database, which delivers from then on. */
  #takeOver(progress: MoveProgress): Promise<void> {
    const { source, target } = this;
    return target.transaction(true, async () => {
      await target.lock();
      this.#refuseUsed(await target.state(source.id), progress);
      let { messages } = progress;
      for (const batch of source.unfinished()) {
        await target.add(batch);
        messages += batch.length;
        this.#tell(messages);
      }
      for (const [table, rows] of source.small()) await target.addRows(table, rows);
      for (const batch of source.slots()) await target.addRows('slot', batch);
      const keys = KEYS.map((name) => ({ name, value: source.meta(name) })).filter(({ value }) => value);
      await target.addRows('meta', [...keys, { name: 'clock', value: `${source.clock}` }]);
      compare(source.counts, await target.counts());
      await target.setProgress(source.id, { ...progress, messages, isDone: true });
    });
  }

  #tell(copied: number): void {
    this.options.onProgress?.(copied, this.source.counts.messages);
  }

  #putAside(): string {
    try {
      return this.source.putAside(new Date());
    } catch (error) {
      throw storeFailed(
        `all of it is in the database, but ${this.source.file} cannot be given another name: see to the rights of its folder, and run this again before Node-RED starts, which would deliver from it once more (${codeIn(error)})`,
      );
    }
  }
}

/** @throws RvmError STORE_FAILED where not as much is there as in the file */
function compare(file: CarriedCounts, there: CarriedCounts): void {
  const names = Object.keys(file) as (keyof CarriedCounts)[];
  const different = names.filter((name) => file[name] !== there[name]);
  if (different.length === 0) return;
  const told = different.map((name) => `${there[name]} of ${file[name]} ${name}`).join(', ');
  throw storeFailed(
    `${told} have come into the database: see to what else changes its tables, and name another schema with --schema`,
  );
}

/**
 * Opens the file of an inbox to be moved, for this process alone.
 * @returns undefined where it was moved already
 * @throws RvmError STORE_FAILED that says why it cannot be moved now
 */
function openSource(folder: string): SourceFile | undefined {
  const file = path.join(folder, INBOX_FILE);
  if (!fs.existsSync(file)) {
    if (wasMoved(file)) return undefined;
    throw unmovable(`there is no ${INBOX_FILE} in ${folder}: name the folder of the inbox with --from`);
  }
  let source: SourceFile | undefined;
  try {
    source = openOffline(file, () => new SourceFile(file));
    // What waits beside the file would be left behind.
    const spilled = hasSpilledMessages(folder);
    if (spilled === undefined) return source;
    throw unmovable(
      `messages wait in ${spilled} that are not in the file yet: start Node-RED, wait until the inbox says that they are read back, stop it, and run this again`,
    );
  } catch (error) {
    source?.close();
    throw error instanceof RvmError ? error : unmovable(offlineFault(error, folder));
  }
}

/** @param reason the end of a sentence: what is in the way, and what to do */
function unmovable(reason: string): RvmError {
  return new RvmError('STORE_FAILED', `The inbox cannot be moved: ${reason}.`);
}

/** SQLite's own, or one of what it has read: also of a number beyond all. */
function isOfFile(error: unknown): boolean {
  if (error instanceof DamagedError || error instanceof RangeError) return true;
  return error instanceof Error && 'errcode' in error;
}

function codeIn(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault';
  return 'code' in error ? String(error.code) : error.message;
}

function writingFailed(error: unknown): Error {
  if (error instanceof RvmError) return error.code === 'STORE_FAILED' ? unmovable(reasonOf(error)) : error;
  return unmovable(
    `the database has failed: ${faultText(error)}; run this again, and it goes on where it has ended`,
  );
}

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

/**
 * The file of an inbox, for this process alone until it is closed. Nothing in it is changed but that it gets an id, and the
 * schema of this package.
 */
class SourceFile {
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
      const isOlder = this.openings < openingsBeside(file);
      this.#doubtfulUpTo = isOlder ? this.newest : (numberIn(this.meta(UNCERTAIN)) ?? 0);
      this.id = this.meta(MOVE_ID) ?? randomUUID();
      this.#database.prepare('INSERT OR IGNORE INTO meta VALUES (?, ?)').run(MOVE_ID, this.id);
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

  /** The rows of small tables: of what is quarantined there are 16 MiB at most. */
  small() {
    const all = (sql: string): Row[] => this.#database.prepare(sql).all();
    return [
      ['endpoint', all('SELECT endpoint, node, is_current FROM endpoint')],
      ['quarantine', all('SELECT endpoint, address, facts, bytes, stored FROM quarantine ORDER BY id')],
      ['slotOwner', all('SELECT owner, version FROM slot_owner')],
    ] as const;
  }

  /** What flows keep, a few at a time. */
  slots() {
    const begun = performance.now();
    // As Node-RED would have it that starts now.
    const clock = new SlotClock(this.#database, () => performance.now() - begun);
    const rows = this.#database
      .prepare('SELECT owner, name, version, value, ends FROM slot WHERE value IS NOT NULL')
      .iterate();
    return batchesOf(
      rows,
      (row) => slotOf(row, clock),
      ({ value }) => value.length,
    );
  }

  meta(name: string): string | undefined {
    return metaIn(this.#database, name);
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

  #one(sql: string): Row | undefined {
    return this.#database.prepare(sql).get();
  }
}

function slotOf({ owner, name, version, value, ends }: Row, clock: SlotClock) {
  return {
    owner: String(owner),
    name: String(name),
    version: Number(version),
    // What a damaged disk has changed: as the inbox gives it.
    value: isJson(String(value)) ? String(value) : 'null',
    // Milliseconds until its end.
    left: typeof ends === 'number' ? ends - clock.now() : null,
  };
}
