import { notedSql } from './history-sql';
import { storableOrNull } from './noting';
import type { Plan } from './statement';
import type { Request, Step } from './step';
import { storable, storedText } from './stored-text';
import type { Tables } from './tables';

/** Which webhook nodes have which endpoint, and what moves from one endpoint to another. */
export class EndpointCalls {
  readonly #former: Plan;
  readonly #claim: Plan;
  readonly #takeLeft: Plan;
  readonly #forget: Plan;
  readonly #leave: Plan;
  readonly #assign: Plan;
  readonly #open: Plan;

  constructor(tables: Tables) {
    this.#former = { name: 'rvm_former_endpoints', text: formerSql(tables) };
    this.#claim = { name: 'rvm_claim_endpoint', text: claimSql(tables) };
    this.#takeLeft = { name: 'rvm_take_left', text: moveSql(tables, leftSql(tables)) };
    this.#forget = { name: 'rvm_forget_endpoints', text: forgetSql(tables) };
    this.#leave = { name: 'rvm_leave_endpoint', text: leaveSql(tables) };
    this.#assign = {
      name: 'rvm_assign',
      text: moveSql(tables, 'SELECT $2::text AS endpoint WHERE $2::text <> $1::text', assignedSql(tables)),
    };
    this.#open = { name: 'rvm_open_by_endpoint', text: openSql(tables) };
  }

  claim({ id, take }: Request<'claimEndpoint'>): Step[] {
    const values = [storable(take.endpoint), storable(take.node)];
    return [
      { statement: this.#former, values },
      { statement: this.#claim, values },
      {
        statement: this.#takeLeft,
        values,
        read: ([row]) => [{ id, give: Number(row?.['count'] ?? 0) }],
      },
      { statement: this.#forget, values },
    ];
  }

  leave({ id, take }: Request<'leaveEndpoint'>): Step {
    return { statement: this.#leave, values: [storable(take.node)], read: () => [{ id }] };
  }

  assign({ id, take }: Request<'assign'>): Step {
    return {
      statement: this.#assign,
      values: [
        storable(take.to),
        storable(take.from),
        Date.now(),
        storableOrNull(take.by),
        JSON.stringify({ reason: take.to }),
      ],
      read: ([row]) => [{ id, give: Number(row?.['count'] ?? 0) }],
    };
  }

  open({ id }: Request<'openByEndpoint'>): Step {
    return {
      statement: this.#open,
      values: [],
      read: (rows) => [
        {
          id,
          give: Object.fromEntries(rows.map((row) => [storedText(row['endpoint']), Number(row['count'])])),
        },
      ],
    };
  }
}

function formerSql({ endpoint }: Tables): string {
  return `UPDATE ${endpoint} SET is_current = false WHERE node = $2 AND endpoint <> $1 AND is_current`;
}

/** Of where it was before, it has nothing any more: whoever has that next keeps it. */
function forgetSql({ endpoint }: Tables): string {
  return `DELETE FROM ${endpoint} WHERE node = $2 AND endpoint <> $1`;
}

function leaveSql({ endpoint }: Tables): string {
  return `UPDATE ${endpoint} SET is_current = false WHERE node = $1 AND is_current`;
}

function claimSql({ endpoint }: Tables): string {
  return `INSERT INTO ${endpoint} AS own (endpoint, node, is_current) VALUES ($1, $2, true)
    ON CONFLICT (endpoint, node) DO UPDATE SET is_current = true WHERE NOT own.is_current`;
}

/** Those that the node had, and that no node has now; and its own id, under which events wait while nodes exchange their paths. */
function leftSql({ endpoint }: Tables): string {
  return `SELECT had.endpoint FROM (SELECT endpoint FROM ${endpoint} WHERE node = $2 UNION SELECT $2::text) AS had
    WHERE had.endpoint <> $1
      AND NOT EXISTS (SELECT FROM ${endpoint} AS own WHERE own.endpoint = had.endpoint AND own.is_current)`;
}

/** Who has assigned what is moved is noted. */
function assignedSql(tables: Tables): string {
  const all = '(SELECT sequence FROM moved UNION SELECT sequence FROM dead)';
  return `, ${notedSql(tables, all, { time: '$3', step: `'assigned'`, actor: '$4', facts: '$5' })}`;
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

function openSql({ work }: Tables): string {
  return `SELECT endpoint, count(*) AS count FROM ${work} WHERE state IN ('received', 'leased') GROUP BY endpoint`;
}
