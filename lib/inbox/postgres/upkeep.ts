import { randomBytes } from 'node:crypto';
import { QUARANTINE_LIMITS } from '../store/port';
import { tidySlotsSql } from './slots';
import {
  type InboxClock,
  integers,
  messageKey,
  notedSql,
  type Plan,
  type Request,
  type Row,
  type Step,
  storable,
  storableOrNull,
  storedText,
  type Tables,
} from './sql';

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

/** Of the key to what is quarantined, and of that of view links. */
const KEY_BYTES = 32;

/** What concerns the inbox as a whole: its keys, who shares it, what it knows. */
export class InboxCalls {
  readonly #ping: Plan;
  readonly #isKnown: Plan;
  readonly #instances: Plan;
  readonly #makeKey: Plan;
  readonly #key: Plan;

  constructor(tables: Tables) {
    this.#ping = { name: 'rvm_ping', text: pingSql(tables) };
    this.#isKnown = {
      name: 'rvm_is_known',
      text: `SELECT 1 FROM ${tables.message} WHERE key = $1::uuid LIMIT 1`,
    };
    this.#instances = { name: 'rvm_instances', text: instancesSql(tables) };
    this.#makeKey = { name: 'rvm_make_key', text: makeKeySql(tables) };
    this.#key = { name: 'rvm_key', text: `SELECT value FROM ${tables.meta} WHERE name = $1` };
  }

  ping({ id }: Request<'ping'>): Step {
    return { statement: this.#ping, values: [], read: () => [{ id }] };
  }

  isKnown({ id, take }: Request<'isKnown'>): Step {
    return {
      statement: this.#isKnown,
      values: [messageKey(take.station, true, take.id)],
      read: (rows) => [{ id, give: rows.length > 0 }],
    };
  }

  instances({ id }: Request<'instances'>, epoch: string): Step {
    return {
      statement: this.#instances,
      values: [],
      read: (rows) => [
        {
          id,
          give: rows.map((row) => ({
            epoch: String(row['epoch']),
            name: storedText(row['name']),
            sinceBeat: Number(row['since_beat']),
            held: Number(row['held']),
            isSelf: row['epoch'] === epoch,
          })),
        },
      ],
    };
  }

  /** A key of this inbox, made when it is first asked for; of several that ask at once one makes it. */
  key(request: Request<'quarantineKey'> | Request<'viewKey'>): Step[] {
    const name = request.name === 'quarantineKey' ? 'quarantine-key' : 'view-key';
    return [
      { statement: this.#makeKey, values: [name, randomBytes(KEY_BYTES).toString('hex')] },
      {
        statement: this.#key,
        values: [name],
        read: ([row]) => [
          { id: request.id, give: new Uint8Array(Buffer.from(String(row?.['value']), 'hex')) },
        ],
      },
    ];
  }
}

/** Written, for a database that is read-only or has no room can still be read. */
function pingSql({ wish }: Tables): string {
  return `WITH none AS (DELETE FROM ${wish} WHERE false) SELECT pg_logical_emit_message(true, 'rvm', '') AS position`;
}

function instancesSql({ instance, work }: Tables): string {
  return `SELECT epoch, name, greatest(0, extract(epoch FROM clock_timestamp() - beat) * 1000)::bigint AS since_beat,
      (SELECT count(*) FROM ${work} AS work WHERE work.holder = instance.epoch AND work.state = 'leased') AS held
    FROM ${instance} AS instance ORDER BY begun, epoch`;
}

/** One that is not whole is of no use, as where there is none. */
function makeKeySql({ meta }: Tables): string {
  return `INSERT INTO ${meta} AS known (name, value) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE known.value !~ '^[0-9a-f]{${KEY_BYTES * 2}}$'`;
}

/** Messages that nothing proved, the oldest of which make room for new ones. */
export class QuarantineCalls {
  readonly #lock: Plan;
  readonly #add: Plan;
  readonly #trimAddress: Plan;
  readonly #trim: Plan;
  readonly #ofEndpoint: Plan;
  readonly #sums: Plan;
  readonly #release: Plan;
  readonly #releaseUpTo: Plan;

  constructor(
    tables: Tables,
    private readonly clock: InboxClock,
  ) {
    const { quarantine } = tables;
    this.#lock = { name: 'rvm_quarantine_lock', text: quarantineLockSql(tables) };
    this.#add = { name: 'rvm_quarantine', text: addSql(tables) };
    this.#trimAddress = { name: 'rvm_trim_address', text: trimAddressSql(tables) };
    this.#trim = { name: 'rvm_trim', text: trimSql(tables) };
    this.#ofEndpoint = {
      name: 'rvm_quarantined',
      text: `SELECT id, endpoint, address, facts, bytes FROM ${quarantine} WHERE endpoint = $1 ORDER BY id`,
    };
    this.#sums = { name: 'rvm_quarantined_sums', text: sumsSql(tables) };
    this.#release = { name: 'rvm_release', text: `DELETE FROM ${quarantine} WHERE id = ANY ($1::bigint[])` };
    this.#releaseUpTo = {
      name: 'rvm_release_up_to',
      text: `DELETE FROM ${quarantine} WHERE endpoint = $1 AND id <= $2::bigint`,
    };
  }

  /** One at a time: so the bounds hold, and ids grow in the order in which they can be seen. */
  add({ id, take }: Request<'quarantine'>): Step[] {
    const { endpoint, address, facts, bytes } = take;
    const from = storable(address);
    return [
      { statement: this.#lock, values: [] },
      {
        statement: this.#add,
        values: [storable(endpoint), from, storable(facts), bytes, this.clock.now()],
      },
      { statement: this.#trimAddress, values: [from] },
      { statement: this.#trim, values: [], read: () => [{ id }] },
    ];
  }

  ofEndpoint({ id, take }: Request<'quarantined'>): Step {
    return {
      statement: this.#ofEndpoint,
      values: [storable(take)],
      read: (rows) => [{ id, give: rows.map(quarantinedOf) }],
    };
  }

  sums({ id }: Request<'quarantinedSums'>): Step {
    return { statement: this.#sums, values: [], read: (rows) => [{ id, give: rows.map(sumOf) }] };
  }

  release({ id, take }: Request<'release'>): Step {
    return { statement: this.#release, values: [integers(take)], read: () => [{ id }] };
  }

  releaseUpTo({ id, take }: Request<'releaseUpTo'>): Step {
    return {
      statement: this.#releaseUpTo,
      values: [storable(take.endpoint), take.id],
      read: () => [{ id }],
    };
  }
}

function quarantinedOf(row: Row): Record<string, unknown> {
  return {
    id: Number(row['id']),
    endpoint: storedText(row['endpoint']),
    address: storedText(row['address']),
    facts: storedText(row['facts']),
    bytes: row['bytes'] instanceof Uint8Array ? row['bytes'] : new Uint8Array(),
  };
}

function sumOf(row: Row): Record<string, unknown> {
  return {
    endpoint: storedText(row['endpoint']),
    count: Number(row['count']),
    id: Number(row['id']),
    facts: storedText(row['facts']),
  };
}

/** Keeps others from adding to the quarantine until the end of the transaction. */
export function quarantineLockSql({ salt }: Tables): string {
  return `SELECT pg_advisory_xact_lock(hashtextextended('quarantine', ${salt}))`;
}

function addSql({ quarantine, meta }: Tables): string {
  return `INSERT INTO ${quarantine} (endpoint, address, facts, bytes, stored)
    SELECT $1, $2, $3, $4::bytea, greatest(value::bigint, $5::bigint) FROM ${meta} WHERE name = 'clock'`;
}

function trimAddressSql({ quarantine }: Tables): string {
  return `DELETE FROM ${quarantine} WHERE id IN
    (SELECT id FROM ${quarantine} WHERE address = $1 ORDER BY id DESC OFFSET ${QUARANTINE_LIMITS.ofAddress})`;
}

function trimSql({ quarantine }: Tables): string {
  return `DELETE FROM ${quarantine} WHERE id IN (SELECT id FROM (
    SELECT id, row_number() OVER newest AS place, sum(octet_length(bytes)) OVER newest AS held
    FROM ${quarantine} WINDOW newest AS (ORDER BY id DESC)) AS measured
    WHERE place > ${QUARANTINE_LIMITS.messages} OR held > ${QUARANTINE_LIMITS.bytes})`;
}

function sumsSql({ quarantine }: Tables): string {
  return `SELECT sum.endpoint, sum.count, sum.id, newest.facts
    FROM (SELECT endpoint, count(*) AS count, max(id) AS id FROM ${quarantine} GROUP BY endpoint) AS sum
    JOIN ${quarantine} AS newest ON newest.id = sum.id`;
}

/** Rows looked at in one go, so that a commit never waits long. */
const STEP = 500;
const DAY = 24 * 60 * 60 * 1000;

/** How far a pass has come: this sequence; and what was stored before this time, when it began. */
interface Pass {
  sequence: number;
  from: number;
}

/**
 * Removes what is final and old, by order of insertion: it stops at the first row that is younger. Several instances may be at
 * it at once; what one has removed, the other does not find.
 */
export class RetentionPlans {
  readonly #advance: Plan;
  readonly #quarantine: Plan;
  readonly #slots: Plan;
  readonly #bodies: Plan;
  readonly #messages: Plan;
  /** From the start again once a day, for what was open then may be final now. */
  readonly #done = { bodies: { sequence: 0, from: 0 }, messages: { sequence: 0, from: 0 } };

  constructor(
    tables: Tables,
    private readonly clock: InboxClock,
  ) {
    this.#advance = { name: 'rvm_clock', text: advanceSql(tables) };
    this.#quarantine = { name: 'rvm_tidy_quarantine', text: tidyQuarantineSql(tables) };
    this.#slots = { name: 'rvm_tidy_slots', text: tidySlotsSql(tables) };
    this.#bodies = { name: 'rvm_tidy_bodies', text: passSql(tables, [tables.body, tables.history]) };
    this.#messages = {
      name: 'rvm_tidy_messages',
      text: passSql(tables, [tables.body, tables.history, tables.course, tables.message]),
    };
  }

  /** One step. A key is kept for at least its time, and as long as its body. */
  tidy({ id, take: { keys, bodies } }: Request<'tidy'>): Step[] {
    let hasMore = false;
    return [
      {
        statement: this.#advance,
        values: [this.clock.now()],
        read: ([row]) => (this.clock.heard(Number(row?.['now'] ?? 0)), []),
      },
      { statement: this.#quarantine, values: [Math.round(bodies)] },
      this.#pass(this.#bodies, this.#done.bodies, bodies, (more) => {
        hasMore = more;
        return [];
      }),
      this.#pass(this.#messages, this.#done.messages, Math.max(keys, bodies), (more) => [
        { id, give: more || hasMore },
      ]),
      // Last, for what flows keep waits for it until the commit.
      { statement: this.#slots, values: [] },
    ];
  }

  #pass(
    statement: Plan,
    done: Pass,
    age: number,
    read: (hasMore: boolean) => ReturnType<NonNullable<Step['read']>>,
  ): Step {
    const before = this.clock.now() - age;
    if (before - done.from > DAY) Object.assign(done, { sequence: 0, from: before });
    return {
      statement,
      values: [done.sequence, Math.round(age)],
      read: ([row = {}]) => {
        done.sequence = Number(row['sequence'] ?? done.sequence);
        return read(hasMoreOf(row));
      },
    };
  }
}

function hasMoreOf(row: Row): boolean {
  return Number(row['count']) === STEP;
}

/** Whoever tidies adds the time that it has seen pass: the greatest counts, so that no time is counted twice. */
function advanceSql({ meta }: Tables): string {
  return `UPDATE ${meta} SET value = greatest(value::bigint, $1::bigint)::text WHERE name = 'clock' RETURNING value AS now`;
}

function tidyQuarantineSql({ quarantine, meta }: Tables): string {
  return `DELETE FROM ${quarantine} WHERE stored < (SELECT value::bigint FROM ${meta} WHERE name = 'clock') - $1::bigint`;
}

/** Dead letters stay until somebody deals with them, or discards them, and what is open stays. */
function passSql({ message, work, meta }: Tables, from: readonly string[]): string {
  const removals = from.map(
    (table, index) => `, gone_${index} AS (
  DELETE FROM ${table} AS kept USING old WHERE kept.sequence = old.sequence AND old.is_final
)`,
  );
  return `
WITH aging AS MATERIALIZED (
  SELECT message.sequence, message.stored >= (SELECT value::bigint FROM ${meta} WHERE name = 'clock') - $2::bigint AS is_young,
    work.sequence IS NULL AND (message.state <> 'dead' OR message.again IS NOT DISTINCT FROM 'dismissed') AS is_final
  FROM ${message} AS message LEFT JOIN ${work} AS work USING (sequence)
  WHERE message.sequence > $1::bigint ORDER BY message.sequence LIMIT ${STEP}
), old AS MATERIALIZED (
  SELECT sequence, is_final FROM aging
  WHERE sequence < coalesce((SELECT min(sequence) FROM aging WHERE is_young), 9223372036854775807)
)${removals.join('')}
SELECT max(sequence) AS sequence, count(*) AS count FROM old`;
}
