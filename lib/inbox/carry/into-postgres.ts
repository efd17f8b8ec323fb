import { BEGIN, isWarning, type Session } from '../postgres/session';
import {
  alarmKey,
  byteStrings,
  DURABLE,
  messageKey,
  storable,
  type Tables,
  tablesOf,
  WARNED,
} from '../postgres/tables';
import {
  type CarriedCounts,
  type CarriedRecord,
  countsIn,
  countsSql,
  MESSAGE_COLUMNS,
  STEP_COLUMNS,
} from '../store/carried-record';
import type { Row } from '../store/stored-row';

/** How far the move of one file has come, as the database keeps it. */
export interface MoveProgress {
  /** Of the messages of which nothing becomes any more, those up to this sequence are there. */
  copied: number;
  /** So many messages are there. */
  messages: number;
  /** How often the file had been opened by an inbox: where it is another number now, it may have changed. */
  openings: number;
  /** True once the database has taken over: from then on it delivers. */
  isDone: boolean;
}

/** What is there before a move begins, or goes on. */
export interface TargetState {
  /** Undefined where the move of this file has not begun. */
  progress: MoveProgress | undefined;
  messages: number;
  /** An instance is there, or was, or another file was moved there. */
  isUsed: boolean;
}

/** The tables grow too quickly for the server to know them: it would take each statement for one that is worth compiling. */
const SHORT = `set_config('jit', 'off', true)`;
const KEPT = `SELECT ${SHORT}, ${WARNED}, ${DURABLE}`;
const NOT_KEPT = `SELECT ${SHORT}, set_config('synchronous_commit', 'off', true)`;

/**
 * The tables of an inbox in PostgreSQL that no instance uses yet. All but `transaction` is to be called within one. Statements
 * have no names, so that it works behind any pooler.
 */
export class Target {
  readonly #sql: ReturnType<typeof targetSql>;
  #warning: string | undefined;

  constructor(
    private readonly session: Session,
    schema: string,
  ) {
    this.#sql = targetSql(tablesOf(schema));
    session.client.on('notice', ({ code, message }) => {
      if (isWarning({ code })) this.#warning ??= message;
    });
  }

  /**
   * @param isDurable false where what is lost with the server's machine is simply done again
   * @throws Error of `pg`; also where the database has not waited for its standby, and says so with a warning
   */
  async transaction<Result>(isDurable: boolean, work: () => Promise<Result>): Promise<Result> {
    const { client } = this.session;
    this.#warning = undefined;
    await client.query(BEGIN);
    try {
      await client.query(isDurable ? KEPT : NOT_KEPT);
      const result = await work();
      await client.query('COMMIT');
      if (this.#warning !== undefined) throw new Error(this.#warning);
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  /** @param id of the file */
  async state(id: string): Promise<TargetState> {
    const [row = {}] = await this.#run(this.#sql.state, [progressName(id)]);
    const { progress, messages, is_used: isUsed } = row;
    return {
      progress: typeof progress === 'string' ? (JSON.parse(progress) as MoveProgress) : undefined,
      messages: Number(messages),
      isUsed: isUsed === true,
    };
  }

  async setProgress(id: string, progress: MoveProgress): Promise<void> {
    await this.addRows('meta', [{ name: progressName(id), value: JSON.stringify(progress) }]);
  }

  /** Keeps out, until the end of the transaction, instances that come. */
  async lock(): Promise<void> {
    await this.#run(this.#sql.lock);
  }

  /**
   * Removes all messages.
   * @param newest sequence of the file: what an instance should accept there gets a later one
   */
  async clear(newest: number): Promise<void> {
    await this.#run(this.#sql.clear);
    await this.#run(this.#sql.reserve, [newest]);
  }

  /** Those that are there already, by their delivery ids, stay as they are. */
  async add(records: readonly CarriedRecord[]): Promise<void> {
    const rows = records.map((record) => {
      const { station, named, id, alarm } = record;
      const alarmIs = alarm === null ? null : alarmKey(station, alarm);
      return { ...record, key: messageKey(station, named === 1, id), alarm_key: alarmIs };
    });
    await this.addRows('message', rows);
  }

  /**
   * What an inbox has, of `meta` in place of what is there under these names. As JSON, which is read in one step whatever the
   * columns are; bytes apart, in the same order.
   */
  async addRows(
    table: 'message' | 'endpoint' | 'quarantine' | 'slotOwner' | 'slot' | 'meta',
    rows: readonly object[],
  ): Promise<void> {
    const text = this.#sql[table];
    const json = JSON.stringify(rows, (_name, value: unknown) => inJson(value));
    const bytes = text.includes('$2') ? [byteStrings(rows.map(bytesOf))] : [];
    await this.#run(text, [json, ...bytes]);
  }

  async counts(): Promise<CarriedCounts> {
    const [row] = await this.#run(this.#sql.counts);
    return countsIn(row);
  }

  async #run(text: string, values: unknown[] = []): Promise<Row[]> {
    const { rows } = await this.session.client.query<Row>({ text, values });
    return rows;
  }
}

/** Under which name it is kept. @param id of the file */
function progressName(id: string): string {
  return `move ${id}`;
}

function bytesOf(row: object): Uint8Array {
  return 'bytes' in row && row.bytes instanceof Uint8Array ? row.bytes : new Uint8Array();
}

function inJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  return value instanceof Uint8Array ? undefined : value;
}

const TYPES = {
  integer: 'bigint',
  'integer?': 'bigint',
  flag: 'boolean',
  text: 'text',
  'text?': 'text',
  uuid: 'uuid',
} as const;

function typed(columns: Readonly<Record<string, keyof typeof TYPES>>): string {
  return Object.entries(columns)
    .map(([name, kind]) => `${name} ${TYPES[kind]}`)
    .join(', ');
}

/** All that is asked of the tables that messages are moved to. */
function targetSql(tables: Tables) {
  const { message, body, work, course, history, meta, instance, endpoint, quarantine, sequence } = tables;
  const { slot, slot_owner: slotOwner } = tables;
  const isAny = [instance, endpoint, quarantine, slotOwner].map((table) => `EXISTS (SELECT FROM ${table})`);
  const emptied = [body, course, history].map((table, n) => `of_${n} AS (DELETE FROM ${table})`);
  /** Rows of JSON, $1, with bytes, $2. */
  const withBytes = (names: string, columns: string): string =>
    `ROWS FROM (json_to_recordset($1::json) AS (${columns}), unnest($2::bytea[])) AS item (${names}, bytes)`;
  const ofRecord = `${typed(MESSAGE_COLUMNS)}, key uuid, alarm_key uuid, facts text, steps json`;
  const names = `${Object.keys(MESSAGE_COLUMNS).join(', ')}, key, alarm_key, facts, steps`;
  return {
    state: `SELECT (SELECT value FROM ${meta} WHERE name = $1) AS progress, (SELECT count(*) FROM ${message}) AS messages,
      ${isAny.join(' OR ')} AS is_used`,
    lock: `LOCK TABLE ${instance} IN SHARE MODE`,
    clear: `WITH ${emptied.join(', ')} DELETE FROM ${message}`,
    reserve: `SELECT count(nextval(${sequence})) FROM generate_series(nextval(${sequence}) + 1, $1::bigint)`,
    // What is open is kept as one that is delivered at once: what becomes of it stands in the other table.
    message: `WITH item AS MATERIALIZED (
        SELECT *, state = 'received' OR (state = 'dead' AND again IS NOT DISTINCT FROM 'attempts') AS is_open
        FROM ${withBytes(names, ofRecord)}
      ), kept AS (
        INSERT INTO ${message} (sequence, delivery_id, key, station, id, named, copy, fingerprint, endpoint, state, attempt, again,
          first, ended, alarm, alarm_key, is_end, rank, received, stored, judged, verdict)
        SELECT sequence, delivery_id, key, station, id, named, copy, fingerprint, endpoint,
          CASE WHEN is_open THEN 'delivered' ELSE state END, CASE WHEN is_open THEN 1 ELSE attempt END,
          CASE WHEN is_open THEN NULL ELSE again END,
          first, ended, alarm, alarm_key, is_end, rank, received, stored, judged, verdict FROM item
        ON CONFLICT (delivery_id) DO NOTHING RETURNING sequence
      ), fresh AS MATERIALIZED (
        SELECT item.* FROM item JOIN kept USING (sequence)
      ), opened AS (
        INSERT INTO ${work} (sequence, endpoint, alarm_key, rank, state, attempt, cut_off, at_flow, again, delivered)
        SELECT sequence, endpoint, alarm_key, rank, state, attempt, cut_off, false, again, delivered FROM fresh WHERE is_open
      ), run AS (
        INSERT INTO ${course} (sequence, delivered, settled, actor)
        SELECT sequence, delivered, settled, settled_by FROM fresh WHERE NOT is_open AND coalesce(delivered, settled) IS NOT NULL
      ), noted AS (
        INSERT INTO ${history} (sequence, ${Object.keys(STEP_COLUMNS).join(', ')})
        SELECT sequence, step.* FROM fresh, json_to_recordset(steps) AS step (${typed(STEP_COLUMNS)})
      )
      INSERT INTO ${body} (sequence, facts, bytes) SELECT sequence, facts, bytes FROM fresh WHERE facts IS NOT NULL`,
    endpoint: `INSERT INTO ${endpoint} (endpoint, node, is_current)
      SELECT * FROM json_to_recordset($1::json) AS item (endpoint text, node text, is_current boolean)`,
    quarantine: `INSERT INTO ${quarantine} (endpoint, address, facts, stored, bytes)
      SELECT * FROM ${withBytes('endpoint, address, facts, stored', 'endpoint text, address text, facts text, stored bigint')}`,
    // Of what was removed nothing is carried: whoever asks for what has changed since is given all.
    slotOwner: `INSERT INTO ${slotOwner} (owner, version, forgotten)
      SELECT owner, version, version FROM json_to_recordset($1::json) AS item (owner text, version bigint)`,
    slot: `INSERT INTO ${slot} (owner, name, version, value, ends)
      SELECT owner, name, version, value, clock_timestamp() + item.left * interval '1 millisecond'
      FROM json_to_recordset($1::json) AS item (owner text, name text, version bigint, value text, "left" bigint)`,
    meta: `INSERT INTO ${meta} SELECT * FROM json_to_recordset($1::json) AS item (name text, value text)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    counts: countsSql({
      messages: message,
      bodies: body,
      steps: history,
      waiting: `${work} WHERE state = 'received'`,
      dead: `${work} WHERE state = 'dead'`,
      quarantined: quarantine,
      endpoints: endpoint,
      slots: `${slot} WHERE value IS NOT NULL`,
    }),
  };
}
