import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type CarriedRecord, type CarriedStep, MESSAGE_COLUMNS, STEP_COLUMNS } from '../store/carried-record';
import type { SpareRecord } from '../store/port';
import { factsWithWarnings } from '../store/stored-message';
import { storedMessage } from '../store/stored-row';
import { alarmKey, type KnownMessages, messageKey } from './known-ids';
import { oneEvent, type Row, type Statements, type Work } from './statements';

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

/** Which records are read. */
interface Wanted {
  /** In SQL. */
  condition?: string;
  /** Those behind this sequence. */
  after?: number;
  limit?: number;
}

/** The messages of a file, in the order in which they came. */
export function* recordsIn(
  database: DatabaseSync,
  { condition = 'TRUE', after = 0, limit = -1 }: Wanted = {},
): Generator<SpareRecord> {
  const messages = database.prepare(`SELECT ${OF_MESSAGE.join(', ')}, node, facts, bytes
    FROM message LEFT JOIN body USING (sequence) WHERE sequence > ? AND ${condition} ORDER BY sequence LIMIT ?`);
  const steps = database.prepare(
    `SELECT ${OF_STEP.join(', ')} FROM history WHERE sequence = ? ORDER BY place`,
  );
  for (const row of messages.iterate(after, limit)) {
    const message = row as Omit<SpareRecord, 'steps'>;
    yield { ...message, steps: steps.all(message.sequence) as CarriedStep[] };
  }
}

/** Writes into a file. What is there already, by its primary key, stays as it is. */
export class CarriedRows {
  readonly #inserts: Readonly<Record<CarriedTable, StatementSync>>;

  constructor(database: DatabaseSync) {
    const inserts = Object.entries(COLUMNS).map(([table, columns]) => {
      const values = columns.map(() => '?').join(', ');
      const sql = `INSERT OR IGNORE INTO ${table} (${columns.join(', ')}) VALUES (${values})`;
      return [table, database.prepare(sql)];
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

/** Bodies of a batch on its way, after which it takes no more. */
const MOST_BYTES = 8 * 1024 * 1024;

/** What a spare alone is asked: its messages are on their way into the inbox. */
export function spareTable(
  database: DatabaseSync,
  statements: Statements,
  known: KnownMessages,
): Pick<Work, 'kept' | 'carry' | 'gone' | 'moveNode' | 'giveNode' | 'doubt'> {
  return {
    kept: () =>
      statements.kept.all().map((row) => ({
        ...storedMessage(row),
        ...(row['alarm'] !== null && { alarm: String(row['alarm']) }),
        size: Number(row['size'] ?? 0),
        node: String(row['node'] ?? row['endpoint']),
      })),
    carry(wanted) {
      const records: SpareRecord[] = [];
      let bytes = 0;
      for (const record of recordsIn(database, wanted)) {
        records.push(record);
        bytes += record.bytes?.byteLength ?? 0;
        if (bytes > MOST_BYTES) break;
      }
      return records;
    },
    gone(deliveryIds) {
      for (const id of deliveryIds) {
        const row = statements.keysOf.get(...oneEvent(statements, id));
        if (row !== undefined) known.remove(row);
      }
    },
    moveNode({ node, endpoint }) {
      // What came when its endpoint had no node.
      statements.renameNode.run(node, endpoint);
      statements.moveNode.run(node, endpoint);
    },
    giveNode({ from, node, endpoint }) {
      statements.giveNode.run(node, endpoint, from);
    },
    doubt(deliveryIds) {
      for (const id of deliveryIds) {
        const [sequence] = oneEvent(statements, id);
        const facts = statements.body.get(sequence)?.['facts'];
        if (typeof facts === 'string')
          statements.setFacts.run(factsWithWarnings(facts, ['may-repeat']), sequence);
      }
    },
  };
}
