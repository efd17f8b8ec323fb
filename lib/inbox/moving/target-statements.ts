import { courseColumns, courseOf } from '../postgres/calls/history-sql';
import { lockSql } from '../postgres/calls/locks';
import { quarantineLockSql } from '../postgres/calls/quarantine-calls';
import type { Plan } from '../postgres/session';
import { MOVING, type Tables } from '../postgres/calls/tables';

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
  Plan
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
