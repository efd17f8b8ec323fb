import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { isJson } from '../../json/json';
import { syncFolder } from '../file-system';
import { alone } from '../sqlite/alone';
import { sequenceIn } from '../sqlite/tables/delivery-id';
import { clockIn, UNCERTAIN, numberIn } from '../sqlite/meta';
import { openDatabase } from '../sqlite/open';
import { MOVED, OpenCounter, OPENINGS } from '../sqlite/openings';
import { SLOT_CLOCK, SlotClock } from '../sqlite/tables/slot-clock';
import type { SlotRow } from '../store/slot-row';
import { stepRow, type StepRow } from '../store/step';
import { factsWithWarnings } from '../store/stored-message';
import type { Quarantined } from '../store/protocol';
import { courseIn } from './moved-course';
import type { MovedMessage } from './moved-message';

type Row = Record<string, SQLOutputValue>;

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
const COLUMNS = `sequence, delivery_id, station, id, named, copy, fingerprint, endpoint, rank, attempt, first, ended, alarm, is_end,
  received, stored, delivered, settled, settled_by, judged, verdict,
  CASE state WHEN 'leased' THEN 'received' ELSE state END AS state,
  CASE state WHEN 'leased' THEN cut_off + at_flow ELSE cut_off END AS cut_off,
  CASE WHEN state = 'leased' AND at_flow = 1 THEN 'restart' ELSE again END AS again`;

const SQL = {
  messages: `SELECT ${COLUMNS}, facts, bytes FROM message LEFT JOIN body USING (sequence) WHERE sequence > ? ORDER BY sequence`,
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

  #message(row: Row): MovedMessage {
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
  #facts({ facts, state, sequence }: Row): string | null {
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
      steady: () => performance.now() - begun,
      wall: Date.now,
    });
  }

  #age(row: Row): number {
    return Math.round(this.#clock) - Number(row['stored']);
  }

  #named(): string {
    const id = randomUUID();
    this.#statements.setMeta.run(MOVE_ID, id);
    return id;
  }
}

function slotOf({ name, version, value, ends }: Row, clock: SlotClock): SlotRow {
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
