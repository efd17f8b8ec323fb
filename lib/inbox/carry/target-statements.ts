import { createHash } from 'node:crypto';
import type { Statement } from '../postgres/session';
import { quarantineLockSql } from '../postgres/endpoint-plans';
import { courseColumns, courseOf } from '../postgres/list-plans';
import { lockSql, MOVING, type Tables } from '../postgres/tables';
import type { MovedMessage } from '../store/record';

/** What of a message must be the same on both sides, bodies by their SHA-256 in hexadecimal digits; null where they are kept no more. */
export interface ComparedMessage extends Omit<
  MovedMessage,
  'sequence' | 'copy' | 'state' | 'age' | 'facts' | 'bytes'
> {
  state: string;
  factsDigest: string | null;
  bytesDigest: string | null;
}

/** A message of the file, to be compared. */
export function comparedMessage(message: MovedMessage): ComparedMessage {
  const { facts, bytes } = message;
  return {
    ...message,
    factsDigest: facts === null ? null : digestOf(facts),
    bytesDigest: bytes === null ? null : digestOf(bytes),
  };
}

/** One digest of all of it. */
export function digestOfMessage(message: ComparedMessage): string {
  const { deliveryId, station, id, named, fingerprint, endpoint, state, rank, attempt, cutOff, again } =
    message;
  const { first, ended, alarm, isEnd, received, factsDigest, bytesDigest } = message;
  const { delivered, settled, settledBy, judged, verdict, steps } = message;
  return digestOf(
    JSON.stringify([
      [deliveryId, station, id, named, fingerprint, endpoint, state, rank, attempt, cutOff, again],
      [first, ended, alarm, isEnd, received, factsDigest, bytesDigest],
      [
        delivered,
        settled,
        settledBy,
        judged,
        verdict,
        steps.map(({ place, time, ...step }) => [place, time, step]),
      ],
    ]),
  );
}

export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** A message where they are moved to, which has an id in common with one of a batch. */
export type MessageThere = Pick<
  MovedMessage,
  'deliveryId' | 'station' | 'id' | 'named' | 'copy' | 'fingerprint'
>;

/**
 * The messages of a batch that are new there, each with the copy that is free. One that is there with the same content, under
 * another delivery id, was sent there once more: it stays the only one. One with other content under the same id is kept as a
 * further copy, in the state in which it is.
 * @param there all that have an id in common with one of the batch
 * @param isOfFile whether a delivery id is one of the file
 */
export function newThere(
  batch: readonly MovedMessage[],
  there: readonly MessageThere[],
  isOfFile: (deliveryId: string) => boolean,
): MovedMessage[] {
  const brought = new Set(there.map(({ deliveryId }) => deliveryId));
  const sentAgain = new Set(there.filter(({ deliveryId }) => !isOfFile(deliveryId)).map(contentOf));
  const copies = new Copies(there);
  return batch
    .filter((message) => !brought.has(message.deliveryId) && !sentAgain.has(contentOf(message)))
    .map((message) => ({ ...message, copy: copies.take(message) }));
}

/** Counts the messages of each id. */
class Copies {
  readonly #next = new Map<string, number>();

  constructor(there: readonly MessageThere[]) {
    for (const message of there) this.#note(keyOf(message), message.copy);
  }

  /** The same as in the file, where that is free. */
  take(message: MovedMessage): number {
    const key = keyOf(message);
    const copy = Math.max(message.copy, this.#next.get(key) ?? 0);
    this.#note(key, copy);
    return copy;
  }

  #note(key: string, copy: number): void {
    this.#next.set(key, Math.max(copy + 1, this.#next.get(key) ?? 0));
  }
}

function contentOf(message: MessageThere): string {
  return `${keyOf(message)}${message.fingerprint}`;
}

function keyOf({ station, named, id }: Pick<MovedMessage, 'station' | 'named' | 'id'>): string {
  return JSON.stringify([station, named, id]);
}

/** All that is asked of the tables that messages are moved to. */
export type TargetStatements = Record<
  | 'state'
  | 'lock'
  | 'progress'
  | 'setProgress'
  | 'there'
  | 'drop'
  | 'dropUnfinished'
  | 'add'
  | 'compare'
  | 'sentAgain'
  | 'handOver'
  | 'addEndpoints'
  | 'lockQuarantine'
  | 'addQuarantine'
  | 'addKey',
  Statement
>;

/** @param tables those of an inbox */
export function targetStatements(tables: Tables): TargetStatements {
  const { instance, message, body, work, course, history, meta, endpoint, quarantine, sequence, stir } =
    tables;
  const andAllOfIt = [body, course, history]
    .map(
      (table, index) =>
        `of_${index} AS (DELETE FROM ${table} AS kept USING gone WHERE kept.sequence = gone.sequence)`,
    )
    .join(', ');
  // One key after the other: a table that grows as quickly as this one is thought to have few of them, and would be read whole.
  const ofKeys = (columns: string): string => `unnest($1::uuid[]) AS asked (key)
    CROSS JOIN LATERAL (SELECT ${columns} FROM ${message} AS message WHERE message.key = asked.key OFFSET 0) AS found`;
  const texts: Record<keyof TargetStatements, string> = {
    state: `SELECT coalesce((SELECT value::bigint FROM ${meta} WHERE name = 'clock'), 0) AS clock,
      coalesce((SELECT max(sequence) FROM ${message}), 0) AS newest, EXISTS (SELECT FROM ${instance}) AS is_in_use`,
    lock: lockSql(tables),
    progress: `SELECT value FROM ${meta} WHERE name = $1`,
    setProgress: `INSERT INTO ${meta} VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,

    there: `SELECT delivery_id, station, id, named, copy, fingerprint FROM ${message} WHERE delivery_id = ANY ($2::uuid[])
      UNION SELECT found.* FROM ${ofKeys('delivery_id, station, id, named, copy, fingerprint')}`,
    // What an earlier run has brought of a file that has changed since.
    drop: `WITH gone AS MATERIALIZED (
        SELECT message.sequence FROM ${message} AS message LEFT JOIN ${work} AS work USING (sequence)
        WHERE delivery_id = ANY ($1::uuid[]) AND (message.sequence > $2 OR work.state = '${MOVING}')
      ), ${andAllOfIt}, of_work AS (
        DELETE FROM ${work} AS work USING gone WHERE work.sequence = gone.sequence
      )
      DELETE FROM ${message} AS message USING gone WHERE message.sequence = gone.sequence`,
    // And what of it is not in the file any more.
    dropUnfinished: `WITH gone AS (
        DELETE FROM ${work} WHERE state = '${MOVING}' AND holder = $1 RETURNING sequence
      ), ${andAllOfIt}
      DELETE FROM ${message} AS message USING gone WHERE message.sequence = gone.sequence`,
    // In the order of the batch, which is the order in which they came. An open event is kept as one that is delivered at once: what
    // becomes of it stands in the other table.
    add: `WITH item AS MATERIALIZED (
        SELECT nextval(${sequence}) AS sequence, ordered.* FROM (
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::text[], $8::text[],
            $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::boolean[], $14::boolean[], $15::boolean[], $16::text[],
            $17::uuid[], $18::boolean[], $19::bigint[], $20::bigint[], $21::bigint[], $26::bigint[], $27::bigint[], $28::text[],
            $29::bigint[], $30::text[]) WITH ORDINALITY
            AS item (delivery_id, key, station, id, named, copy, fingerprint, endpoint, state, attempt, cut_off, again, is_unfinished,
              first, ended, alarm, alarm_key, is_end, rank, received, stored, delivered, settled, actor, judged, verdict, n) ORDER BY n) AS ordered
      ), kept AS (
        INSERT INTO ${message} (sequence, delivery_id, key, station, id, named, copy, fingerprint, endpoint, state, attempt, again,
          first, ended, alarm, alarm_key, is_end, rank, received, stored, judged, verdict)
        SELECT sequence, delivery_id, key, station, id, named, copy, fingerprint, endpoint,
          CASE WHEN is_unfinished THEN 'delivered' ELSE state END, CASE WHEN is_unfinished THEN 1 ELSE attempt END,
          CASE WHEN is_unfinished THEN NULL ELSE again END,
          first, ended, alarm, alarm_key, is_end, rank, received, stored, judged, verdict FROM item
      ), opened AS (
        INSERT INTO ${work} (sequence, endpoint, alarm_key, rank, state, attempt, cut_off, at_flow, again, holder, delivered)
        SELECT sequence, endpoint, alarm_key, rank, '${MOVING}', attempt, cut_off, false, again, $22::uuid, delivered
        FROM item WHERE is_unfinished
      ), run AS (
        INSERT INTO ${course} (sequence, delivered, settled, actor)
        SELECT sequence, delivered, settled, actor FROM item
        WHERE NOT is_unfinished AND coalesce(delivered, settled) IS NOT NULL
      ), noted AS (
        INSERT INTO ${history} (sequence, place, time, step, attempt, actor, facts)
        SELECT sequence, step.place, step.time, step.step, step.attempt, step.actor, step.facts
        FROM item JOIN unnest($31::bigint[], $32::bigint[], $33::bigint[], $34::text[], $35::bigint[], $36::text[], $37::text[])
          AS step (n, place, time, step, attempt, actor, facts) USING (n)
      )
      INSERT INTO ${body} (sequence, facts, bytes)
        SELECT sequence, facts, bytes FROM item JOIN unnest($23::bigint[], $24::text[], $25::bytea[]) AS content (n, facts, bytes) USING (n)`,

    compare: `SELECT message.sequence, delivery_id, station, id, named, fingerprint, message.endpoint,
        coalesce(work.state, message.state) AS state, message.rank, coalesce(work.attempt, message.attempt) AS attempt,
        coalesce(work.cut_off, 0) AS cut_off, CASE WHEN work.sequence IS NULL THEN message.again ELSE work.again END AS again, first, ended,
        alarm, is_end, received, body.facts, encode(sha256(bytes), 'hex') AS bytes_digest, ${courseColumns(tables, 'true')}
      FROM ${message} AS message LEFT JOIN ${work} AS work USING (sequence) LEFT JOIN ${body} AS body USING (sequence)
        ${courseOf(tables)}
      WHERE delivery_id = ANY ($1::uuid[])`,
    // The key as it is asked for.
    sentAgain: `SELECT encode(uuid_send(asked.key), 'hex') AS key, fingerprint FROM ${ofKeys('fingerprint')}`,

    handOver: `WITH shown AS (
        UPDATE ${work} SET state = CASE WHEN again IS NOT DISTINCT FROM 'attempts' THEN 'dead' ELSE 'received' END, holder = NULL
        WHERE state = '${MOVING}' AND holder = $1 RETURNING endpoint, state
      ), counted AS (
        SELECT endpoint, count(*) FILTER (WHERE state = 'received') AS waiting, count(*) FILTER (WHERE state = 'dead') AS dead
        FROM shown GROUP BY endpoint
      )
      SELECT waiting, dead, CASE WHEN waiting > 0 THEN ${stir('endpoint')} END AS noted FROM counted`,
    // A node that has another endpoint there has it since, for it is there that it was seen last.
    addEndpoints: `INSERT INTO ${endpoint} (endpoint, node, is_current)
      SELECT item.endpoint, item.node, item.is_current AND NOT EXISTS (
        SELECT FROM ${endpoint} AS known WHERE known.node = item.node AND known.is_current)
      FROM unnest($1::text[], $2::text[], $3::boolean[]) AS item (endpoint, node, is_current)
      ON CONFLICT (endpoint, node) DO NOTHING`,
    lockQuarantine: quarantineLockSql(tables),
    addQuarantine: `INSERT INTO ${quarantine} (endpoint, address, facts, bytes, stored)
      SELECT endpoint, address, facts, bytes, stored
      FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[]) WITH ORDINALITY
        AS item (endpoint, address, facts, bytes, stored, n) ORDER BY n`,
    addKey: `WITH added AS (INSERT INTO ${meta} VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING value)
      SELECT value FROM added UNION ALL SELECT value FROM ${meta} WHERE name = $1`,
  };
  const named = Object.entries(texts).map(
    ([name, text]) => [name, { name: `rvm_move_${name}`, text }] as const,
  );
  return Object.fromEntries(named) as TargetStatements;
}
