import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type CarriedRecord, MESSAGE_COLUMNS, STEP_COLUMNS } from '../store/carried-record';
import { alarmKey, messageKey } from './known-ids';
import type { Row } from './statements';

const OF_MESSAGE = Object.keys(MESSAGE_COLUMNS);
const OF_STEP = Object.keys(STEP_COLUMNS);

/** The tables of which rows are carried, with their columns in their order; the first is the primary key. */
export const COLUMNS = {
  message: [...OF_MESSAGE, 'id_key', 'alarm_key', 'node'],
  body: ['sequence', 'facts', 'bytes'],
  history: ['number', 'sequence', ...OF_STEP],
  quarantine: ['id', 'endpoint', 'address', 'facts', 'bytes', 'stored'],
  slot: ['number', 'owner', 'name', 'version', 'value', 'ends', 'written'],
  endpoint: ['endpoint', 'node', 'is_current'],
} as const satisfies Record<string, readonly string[]>;

type CarriedTable = keyof typeof COLUMNS;
/** Those whose primary key is a number. */
export type NumberedTable = Exclude<CarriedTable, 'endpoint'>;

/**
 * The messages of a file after a sequence, in the order in which they came.
 * @param condition in SQL, which of them
 */
export function* recordsIn(database: DatabaseSync, condition = 'TRUE', after = 0): Generator<CarriedRecord> {
  const messages = database.prepare(`SELECT ${OF_MESSAGE.join(', ')}, facts, bytes
    FROM message LEFT JOIN body USING (sequence) WHERE sequence > ? AND ${condition} ORDER BY sequence`);
  const steps = database.prepare(
    `SELECT ${OF_STEP.join(', ')} FROM history WHERE sequence = ? ORDER BY place`,
  );
  for (const row of messages.iterate(after))
    yield { ...row, steps: steps.all(row['sequence'] ?? null) } as unknown as CarriedRecord;
}

/** Writes into a file. What is there already, by its primary key, stays as it is. */
export class CarriedRows {
  readonly #inserts: Readonly<Record<CarriedTable, StatementSync>>;

  constructor(database: DatabaseSync) {
    const inserts = Object.entries(COLUMNS).map(([table, columns]) => {
      const values = columns.map(() => '?').join(', ');
      const sql = `INSERT OR IGNORE INTO ${table} (${columns.join(', ')}) VALUES (${values})`;
      return [table, database.prepare(sql)] as const;
    });
    this.#inserts = Object.fromEntries(inserts) as Record<CarriedTable, StatementSync>;
  }

  /**
   * All of a message, under its sequence.
   * @returns false where that is taken
   * @throws Error of SQLite
   */
  write({ facts, bytes, steps, ...message }: CarriedRecord): boolean {
    const { sequence } = message;
    if (!this.add('message', message)) return false;
    if (facts !== null && bytes !== null) this.add('body', { sequence, facts, bytes });
    for (const step of steps) this.add('history', { ...step, sequence });
    return true;
  }

  /**
   * One row.
   * @returns false where it is there
   * @throws Error of SQLite, also for a value that the column does not take
   */
  add(table: CarriedTable, row: Row): boolean {
    const whole = table === 'message' ? { ...row, ...keysOf(row) } : row;
    const values = COLUMNS[table].map((column) => whole[column] ?? null);
    return this.#inserts[table].run(...values).changes > 0;
  }
}

function keysOf({ station, named, id, alarm = null }: Row): Row {
  const own = String(station);
  return {
    id_key: messageKey(own, named === 1, String(id)),
    alarm_key: alarm === null ? null : alarmKey(own, String(alarm)),
  };
}
