import { QUARANTINE_LIMITS, type Quarantined, type QuarantinedSum } from '../store/port';
import { type CallPlans, nothing } from './call-plans';
import { notedSql } from './event-plans';
import {
  type InboxClock,
  integers,
  type Row,
  storable,
  storableOrNull,
  storedText,
  type Tables,
} from './tables';

/** Which webhook nodes have which endpoint, what moves from one endpoint to another, and what is quarantined there. */
export function endpointPlans(tables: Tables, clock: InboxClock) {
  const { endpoint, quarantine, meta } = tables;
  return {
    claimEndpoint: {
      phase: 'endpoints',
      sql: [
        `UPDATE ${endpoint} SET is_current = false WHERE node = $2 AND endpoint <> $1 AND is_current`,
        `INSERT INTO ${endpoint} AS own (endpoint, node, is_current) VALUES ($1, $2, true)
          ON CONFLICT (endpoint, node) DO UPDATE SET is_current = true WHERE NOT own.is_current`,
        // Those that the node had, and that no node has now; and its own id, under which events wait while nodes exchange their paths.
        moveSql(
          tables,
          `SELECT had.endpoint FROM (SELECT endpoint FROM ${endpoint} WHERE node = $2 UNION SELECT $2::text) AS had
            WHERE had.endpoint <> $1
              AND NOT EXISTS (SELECT FROM ${endpoint} AS own WHERE own.endpoint = had.endpoint AND own.is_current)`,
        ),
        // Of where it was before, it has nothing any more: whoever has that next keeps it.
        `DELETE FROM ${endpoint} WHERE node = $2 AND endpoint <> $1`,
      ],
      args: ({ endpoint, node }) => Array.from({ length: 4 }, () => [storable(endpoint), storable(node)]),
      read: ([, , [row]]) => Number(row?.['count'] ?? 0),
    },
    leaveEndpoint: {
      phase: 'endpoints',
      sql: `UPDATE ${endpoint} SET is_current = false WHERE node = $1 AND is_current`,
      args: ({ node }) => [storable(node)],
      read: nothing,
    },
    /** Who has assigned what is moved is noted. */
    assign: {
      phase: 'endpoints',
      sql: moveSql(
        tables,
        'SELECT $2::text AS endpoint WHERE $2::text <> $1::text',
        `, ${notedSql(tables, '(SELECT sequence FROM moved UNION SELECT sequence FROM dead)', {
          time: '$3',
          step: `'assigned'`,
          actor: '$4',
          facts: '$5',
        })}`,
      ),
      args: ({ from, to, by }) => [
        storable(to),
        storable(from),
        Date.now(),
        storableOrNull(by),
        JSON.stringify({ reason: to }),
      ],
      read: ([[row]]) => Number(row?.['count'] ?? 0),
    },
    /** One at a time: so the bounds hold, and ids grow in the order in which they can be seen. The oldest make room for new ones. */
    quarantine: {
      line: 'side',
      sql: [
        quarantineLockSql(tables),
        `INSERT INTO ${quarantine} (endpoint, address, facts, bytes, stored)
          SELECT $1, $2, $3, $4::bytea, greatest(value::bigint, $5::bigint) FROM ${meta} WHERE name = 'clock'`,
        `DELETE FROM ${quarantine} WHERE id IN
          (SELECT id FROM ${quarantine} WHERE address = $1 ORDER BY id DESC OFFSET ${QUARANTINE_LIMITS.ofAddress})`,
        `DELETE FROM ${quarantine} WHERE id IN (SELECT id FROM (
          SELECT id, row_number() OVER newest AS place, sum(octet_length(bytes)) OVER newest AS held
          FROM ${quarantine} WINDOW newest AS (ORDER BY id DESC)) AS measured
          WHERE place > ${QUARANTINE_LIMITS.messages} OR held > ${QUARANTINE_LIMITS.bytes})`,
      ],
      args: ({ endpoint, address, facts, bytes }) => [
        [],
        [storable(endpoint), storable(address), storable(facts), bytes, clock.now()],
        [storable(address)],
        [],
      ],
      read: nothing,
    },
    quarantined: {
      line: 'side',
      sql: `SELECT id, endpoint, address, facts, bytes FROM ${quarantine} WHERE endpoint = $1 ORDER BY id`,
      args: (endpoint) => [storable(endpoint)],
      read: ([rows]) => rows.map(quarantinedOf),
    },
    quarantinedSums: {
      line: 'side',
      sql: `SELECT sum.endpoint, sum.count, sum.id, newest.facts
        FROM (SELECT endpoint, count(*) AS count, max(id) AS id FROM ${quarantine} GROUP BY endpoint) AS sum
        JOIN ${quarantine} AS newest ON newest.id = sum.id`,
      read: ([rows]) => rows.map(sumOf),
    },
    release: {
      line: 'side',
      sql: `DELETE FROM ${quarantine} WHERE id = ANY ($1::bigint[])`,
      args: (ids) => [integers(ids)],
      read: nothing,
    },
    releaseUpTo: {
      line: 'side',
      sql: `DELETE FROM ${quarantine} WHERE endpoint = $1 AND id <= $2::bigint`,
      args: ({ endpoint, id }) => [storable(endpoint), id],
      read: nothing,
    },
  } satisfies Partial<CallPlans>;
}

/** Open events, dead letters and what is quarantined go to the endpoint $1. How many events wait there then. */
function moveSql({ work, message, quarantine, stir }: Tables, from: string, besides = ''): string {
  return `
WITH former AS MATERIALIZED (${from}),
moved AS (
  UPDATE ${work} AS work SET endpoint = $1 FROM former WHERE work.endpoint = former.endpoint RETURNING work.sequence, work.state
), unsettled AS (
  UPDATE ${message} AS message SET endpoint = $1 FROM moved WHERE message.sequence = moved.sequence
), dead AS (
  UPDATE ${message} AS message SET endpoint = $1 FROM former
  WHERE message.endpoint = former.endpoint AND message.state IN ('dead', 'conflict', 'stale')
  RETURNING message.sequence
), unproven AS (
  UPDATE ${quarantine} AS quarantine SET endpoint = $1 FROM former WHERE quarantine.endpoint = former.endpoint
), arrived AS (
  SELECT count(*) AS count FROM moved WHERE state = 'received'
), there AS (
  SELECT count(*) AS count FROM ${work} AS work
  WHERE work.endpoint = $1 AND work.state = 'received' AND work.endpoint NOT IN (SELECT endpoint FROM former)
)${besides}
SELECT arrived.count + there.count AS count,
  CASE WHEN arrived.count > 0 THEN ${stir('$1::text')} END AS noted
FROM arrived, there`;
}

function quarantinedOf(row: Row): Quarantined & { id: number } {
  return {
    id: Number(row['id']),
    endpoint: storedText(row['endpoint']),
    address: storedText(row['address']),
    facts: storedText(row['facts']),
    bytes: row['bytes'] instanceof Uint8Array ? row['bytes'] : new Uint8Array(),
  };
}

function sumOf(row: Row): QuarantinedSum {
  return {
    endpoint: storedText(row['endpoint']),
    count: Number(row['count']),
    id: Number(row['id']),
    facts: storedText(row['facts']),
  };
}

/** Keeps others from adding to the quarantine until the end of the transaction. */
function quarantineLockSql({ salt }: Tables): string {
  return `SELECT pg_advisory_xact_lock(hashtextextended('quarantine', ${salt}))`;
}
