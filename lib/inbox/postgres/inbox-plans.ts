import { randomBytes } from 'node:crypto';
import {
  MOST_REMOVED,
  QUARANTINE_LIMITS,
  REMOVED_FOR,
  type SlotRow,
  type SlotRowOutcome,
  type SlotRowWrite,
} from '../store/port';
import { quarantinedIn, quarantinedSumIn, readerOf, type Row } from '../store/stored-row';
import { Acceptances } from './accept-plan';
import { BatchPlanner, type CallPlans, nothing } from './call-plans';
import { eventPlans, notedSql } from './event-plans';
import { listPlans } from './list-plans';
import { byNumber, InboxClock, integers, type Tables, tablesOf, texts } from './tables';

/**
 * All that is asked of an inbox.
 * @param monotonic milliseconds of a clock that never jumps
 */
export function plannerOf(schema: string, monotonic: () => number): BatchPlanner {
  const tables = tablesOf(schema);
  const clock = new InboxClock(monotonic);
  const acceptances = new Acceptances(tables, clock);
  const plans: CallPlans = {
    ...endpointPlans(tables, clock),
    ...eventPlans(tables, acceptances),
    accept: acceptances.plan,
    ...listPlans(tables, clock),
    ...slotPlans(tables),
    ...retentionPlans(tables, clock),
    ...inboxPlans(tables),
  };
  return new BatchPlanner(tables, plans);
}

/** Of the key to what is quarantined, and of that of view links. */
const KEY_BYTES = 32;

/** What concerns the inbox as a whole: who shares it, its keys, whether it can write. */
function inboxPlans({ instance, work, meta, wish }: Tables) {
  /** A key of this inbox, made when it is first asked for; of several that ask at once one makes it. */
  const keyPlan = (name: string) =>
    ({
      line: 'side',
      sql: [
        // One that is not whole is of no use, as where there is none.
        `INSERT INTO ${meta} AS known (name, value) VALUES ($1, $2)
          ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE known.value !~ '^[0-9a-f]{${KEY_BYTES * 2}}$'`,
        `SELECT value FROM ${meta} WHERE name = $1`,
      ],
      args: () => [[name, randomBytes(KEY_BYTES).toString('hex')], [name]],
      read: ([, [row]]) => new Uint8Array(Buffer.from(String(row?.['value']), 'hex')),
    }) satisfies CallPlans['viewKey'];
  return {
    instances: {
      line: 'side',
      sql: `SELECT epoch, name, epoch = $1::uuid AS "isSelf",
          greatest(0, extract(epoch FROM clock_timestamp() - beat) * 1000)::bigint AS "sinceBeat",
          (SELECT count(*) FROM ${work} AS work WHERE work.holder = instance.epoch AND work.state = 'leased') AS held
        FROM ${instance} AS instance ORDER BY begun, epoch`,
      args: (_take, epoch) => [epoch],
      read: ([rows]) =>
        rows.map(readerOf({ epoch: String, name: String, sinceBeat: Number, held: Number, isSelf: Boolean })),
    },
    quarantineKey: keyPlan('quarantine-key'),
    viewKey: keyPlan('view-key'),
    /** Written, for a database that is read-only or has no room can still be read. */
    ping: {
      isRepeatable: true,
      sql: `WITH none AS (DELETE FROM ${wish} WHERE false) SELECT pg_logical_emit_message(true, 'rvm', '') AS position`,
      read: nothing,
    },
  } satisfies Partial<CallPlans>;
}

/** Rows looked at in one go, so that a commit never waits long. */
const PASS = 500;
const DAY = 24 * 60 * 60 * 1000;

/**
 * Retention: removes what is final and old, by order of insertion: it stops at the first row that is younger. Several instances
 * may be at it at once; what one has removed, the other does not find.
 */
function retentionPlans(tables: Tables, clock: InboxClock) {
  const { meta, quarantine, body, history, course, message } = tables;
  /** How far a pass has come: this sequence; and what was stored before this time, when it began. */
  const passFrom = { sequence: 0, from: 0 };
  const done = { bodies: { ...passFrom }, messages: { ...passFrom } };
  /** From the start again once a day, for what was open then may be final now. */
  const passArgs = (pass: typeof passFrom, age: number): [number, number] => {
    const before = clock.now() - age;
    if (before - pass.from > DAY) Object.assign(pass, { sequence: 0, from: before });
    return [pass.sequence, Math.round(age)];
  };
  /** @returns whether there is more to remove */
  const passed = (pass: typeof passFrom, [row = {}]: readonly Row[]): boolean => {
    pass.sequence = Number(row['sequence'] ?? pass.sequence);
    return Number(row['count']) === PASS;
  };
  return {
    tidy: {
      line: 'side',
      sql: [
        // Whoever does it adds the time that it has seen pass: the greatest counts, so that no time is counted twice.
        `UPDATE ${meta} SET value = greatest(value::bigint, $1::bigint)::text WHERE name = 'clock' RETURNING value AS now`,
        `DELETE FROM ${quarantine} WHERE stored < (SELECT value::bigint FROM ${meta} WHERE name = 'clock') - $1::bigint`,
        passSql(tables, [body, history]),
        passSql(tables, [body, history, course, message]),
        // Last, for what flows keep waits for it until the commit.
        forgottenSlotsSql(tables),
      ],
      // A key is kept for at least its time, and as long as its body.
      args: ({ keys, bodies }) => [
        [clock.now()],
        [Math.round(bodies)],
        passArgs(done.bodies, bodies),
        passArgs(done.messages, Math.max(keys, bodies)),
        [],
      ],
      read: ([[row], , bodies, messages]) => {
        clock.heard(Number(row?.['now'] ?? 0));
        return [passed(done.bodies, bodies), passed(done.messages, messages)].includes(true);
      },
    },
  } satisfies Partial<CallPlans>;
}

/** Dead letters stay until somebody deals with them, or discards them, and what is open stays. */
function passSql({ event, meta }: Tables, from: readonly string[]): string {
  const removals = from.map(
    (table, index) => `, gone_${index} AS (
  DELETE FROM ${table} AS kept USING old WHERE kept.sequence = old.sequence AND old.is_final
)`,
  );
  return `
WITH aging AS MATERIALIZED (
  SELECT message.sequence, message.stored >= (SELECT value::bigint FROM ${meta} WHERE name = 'clock') - $2::bigint AS is_young,
    work.sequence IS NULL AND (message.state <> 'dead' OR message.again IS NOT DISTINCT FROM 'dismissed') AS is_final
  FROM ${event}
  WHERE message.sequence > $1::bigint ORDER BY message.sequence LIMIT ${PASS}
), old AS MATERIALIZED (
  SELECT sequence, is_final FROM aging
  WHERE sequence < coalesce((SELECT min(sequence) FROM aging WHERE is_young), 9223372036854775807)
)${removals.join('')}
SELECT max(sequence) AS sequence, count(*) AS count FROM old`;
}

/** Which webhook nodes have which endpoint, what moves from one endpoint to another, and what is quarantined there. */
function endpointPlans(tables: Tables, clock: InboxClock) {
  const { endpoint, quarantine, meta, salt } = tables;
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
      args: ({ endpoint, node }) => Array.from({ length: 4 }, () => [endpoint, node]),
      read: ([, , [row]]) => Number(row?.['count'] ?? 0),
    },
    leaveEndpoint: {
      phase: 'endpoints',
      sql: `UPDATE ${endpoint} SET is_current = false WHERE node = $1 AND is_current`,
      args: ({ node }) => [node],
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
      args: ({ from, to, by }) => [to, from, Date.now(), by, JSON.stringify({ reason: to })],
      read: ([[row]]) => Number(row?.['count'] ?? 0),
    },
    /** One at a time: so the bounds hold, and ids grow in the order in which they can be seen. The oldest make room for new ones. */
    quarantine: {
      line: 'side',
      sql: [
        // Until the end of the transaction.
        `SELECT pg_advisory_xact_lock(hashtextextended('quarantine', ${salt}))`,
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
        [endpoint, address, facts, bytes, clock.now()],
        [address],
        [],
      ],
      read: nothing,
    },
    quarantined: {
      line: 'side',
      sql: `SELECT id, endpoint, address, facts, bytes FROM ${quarantine} WHERE endpoint = $1 ORDER BY id`,
      args: (endpoint) => [endpoint],
      read: ([rows]) => rows.map(quarantinedIn),
    },
    quarantinedSums: {
      line: 'side',
      sql: `SELECT sum.endpoint, sum.count, sum.id, newest.facts
        FROM (SELECT endpoint, count(*) AS count, max(id) AS id FROM ${quarantine} GROUP BY endpoint) AS sum
        JOIN ${quarantine} AS newest ON newest.id = sum.id`,
      read: ([rows]) => rows.map(quarantinedSumIn),
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
      args: ({ endpoint, id }) => [endpoint, id],
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

/** Stands for what is absent, in an array of whole numbers. */
const NONE = -1;
const LEFT = `extract(epoch FROM slot.ends - clock_timestamp()) * 1000`;

/**
 * What flows keep, by owner and name. Whoever changes slots of an owner locks its row until the commit: so its versions can be
 * seen in the order in which they were counted, and who asks for what has changed since one of them misses nothing.
 */
function slotPlans(tables: Tables) {
  const { slot, slot_owner: slotOwner, tellSlots } = tables;
  const put = putSql(tables);
  return {
    putSlots: {
      line: 'slots',
      phase: 'slots',
      bytes: ({ writes }) => writes.reduce((sum, { value = '' }) => sum + value.length, 0),
      steps: (requests, epoch) =>
        requests.map(({ id, take: { owner, writes } }) => {
          const runs = runsOf(writes);
          return {
            statements: runs.map((run) => [put, [owner, epoch, ...columnsOf(run)]]),
            read: (answers) => [{ id, give: runs.flatMap((run, index) => outcomesOf(run, answers[index])) }],
          };
        }),
    },
    dropSlots: {
      line: 'slots',
      phase: 'slots',
      isRepeatable: true,
      sql: `
WITH held AS MATERIALIZED (
  SELECT name, row_number() OVER (ORDER BY version) AS step FROM ${slot} WHERE owner = $1 AND value IS NOT NULL
), counted AS (
  UPDATE ${slotOwner} SET version = version + (SELECT count(*) FROM held) WHERE owner = $1 AND EXISTS (SELECT FROM held)
  RETURNING version - (SELECT count(*) FROM held) AS before
), dropped AS (
  UPDATE ${slot} AS slot SET version = before + step, value = NULL, ends = NULL, written = clock_timestamp()
  FROM held, counted WHERE slot.owner = $1 AND slot.name = held.name
)
SELECT ${tellSlots('$2::text', '$1::text')} AS noted FROM counted`,
      args: ({ owner }, epoch) => [owner, epoch],
      read: nothing,
    },
    /** At least one row where the owner ever had any. */
    slots: {
      line: 'slots',
      isRepeatable: true,
      sql: `
WITH asked AS MATERIALIZED (
  SELECT owner, version, $2::bigint NOT BETWEEN greatest(forgotten, 1) AND version AS is_all FROM ${slotOwner} WHERE owner = $1
)
SELECT asked.version AS owner_version, asked.is_all, slot.name, slot.version, slot.value, ${LEFT} AS left_ms
FROM asked LEFT JOIN ${slot} AS slot ON slot.owner = asked.owner
  AND slot.version > CASE WHEN asked.is_all THEN 0 ELSE $2::bigint END AND (slot.value IS NOT NULL OR NOT asked.is_all)
ORDER BY slot.version`,
      args: ({ owner, since }) => [owner, since],
      read: ([rows]) => ({
        version: Number(rows[0]?.['owner_version'] ?? 0),
        isAll: rows[0]?.['is_all'] !== false,
        slots: rows.filter((row) => row['name'] !== null).map(slotOf),
      }),
    },
    slotOwners: {
      line: 'slots',
      isRepeatable: true,
      sql: `SELECT owner FROM ${slotOwner} AS own WHERE starts_with(owner, $1)
        AND EXISTS (SELECT FROM ${slot} AS slot WHERE slot.owner = own.owner AND slot.value IS NOT NULL) ORDER BY owner COLLATE "C"`,
      args: (prefix) => [prefix],
      read: ([rows]) => rows.map((row) => String(row['owner'])),
    },
    slotVersions: {
      line: 'slots',
      isRepeatable: true,
      sql: `SELECT owner, version FROM ${slotOwner} WHERE owner = ANY ($1::text[])`,
      args: (owners) => [texts(owners)],
      read: ([rows], owners) => {
        const versions = Object.fromEntries(owners.map((owner) => [owner, 0]));
        for (const row of rows) versions[String(row['owner'])] = Number(row['version']);
        return versions;
      },
    },
  } satisfies Partial<CallPlans>;
}

/** In their order, and in none of them a name twice: what is written twice is written one after the other. */
function runsOf(writes: readonly SlotRowWrite[]): SlotRowWrite[][] {
  const runs: SlotRowWrite[][] = [];
  let names = new Set<string>();
  for (const write of writes) {
    const run = names.has(write.name) ? undefined : runs.at(-1);
    if (run === undefined) {
      names = new Set();
      runs.push([write]);
    } else run.push(write);
    names.add(write.name);
  }
  return runs;
}

/** Names, expected versions, values, and how long they last. */
function columnsOf(writes: readonly SlotRowWrite[]): Buffer[] {
  return [
    texts(writes.map(({ name }) => name)),
    integers(writes.map(({ expected = NONE }) => expected)),
    texts(writes.map(({ value = null }) => value)),
    integers(writes.map(({ lasts = NONE }) => lasts)),
  ];
}

function outcomesOf(run: readonly SlotRowWrite[], rows: readonly Row[] = []): SlotRowOutcome[] {
  const found = byNumber(rows);
  return run.map((write, n) => outcomeOf(write, found.get(n + 1) ?? {}));
}

function outcomeOf({ name, value, lasts }: SlotRowWrite, row: Row): SlotRowOutcome {
  if (row['is_fit'] !== true)
    return { written: false, ...(row['version'] !== null && { slot: slotOf(row) }) };
  if (value === undefined) return { written: true };
  const left = lasts === undefined ? {} : { left: lasts };
  return { written: true, slot: { name, version: Number(row['written']), ...left } };
}

function slotOf(row: Row): SlotRow {
  const { value, left_ms: left } = row;
  return {
    name: String(row['name']),
    version: Number(row['version']),
    ...(typeof value === 'string' && { value }),
    ...(left !== null && { left: Math.round(Number(left)) }),
  };
}

/** To the owner $1, by the instance $2. No name twice among them. */
function putSql({ slot, slot_owner: slotOwner, tellSlots }: Tables): string {
  return `
WITH asked AS MATERIALIZED (
  SELECT asked.n, asked.name, asked.value, nullif(asked.lasts, ${NONE}) AS lasts, slot.version, slot.value AS former, ${LEFT} AS left_ms,
    asked.expected = ${NONE} OR asked.expected = coalesce(slot.version, 0) AS is_fit
  FROM unnest($3::text[], $4::bigint[], $5::text[], $6::bigint[]) WITH ORDINALITY AS asked (name, expected, value, lasts, n)
  LEFT JOIN ${slot} AS slot ON slot.owner = $1 AND slot.name = asked.name AND slot.value IS NOT NULL
), changed AS MATERIALIZED (
  SELECT *, row_number() OVER (ORDER BY n) AS step FROM asked WHERE is_fit AND (value IS NOT NULL OR version IS NOT NULL)
), counted AS (
  UPDATE ${slotOwner} SET version = version + (SELECT count(*) FROM changed)
  WHERE owner = $1 AND EXISTS (SELECT FROM changed)
  RETURNING version - (SELECT count(*) FROM changed) AS before
), put AS (
  INSERT INTO ${slot} AS own (owner, name, version, value, ends)
  SELECT $1, name, before + step, value, CASE WHEN value IS NOT NULL THEN clock_timestamp() + lasts * interval '1 millisecond' END
  FROM changed, counted
  ON CONFLICT (owner, name) DO UPDATE SET version = excluded.version, value = excluded.value, ends = excluded.ends,
    written = clock_timestamp()
  RETURNING name, version
)
SELECT asked.n, asked.name, asked.is_fit, put.version AS written, asked.version, asked.left_ms,
  CASE WHEN NOT asked.is_fit THEN asked.former END AS value,
  (SELECT ${tellSlots('$2::text', '$1::text')} FROM counted) AS noted
FROM asked LEFT JOIN put USING (name)`;
}

/**
 * Forgets what was removed a day ago, and all but the latest where that is too much. An owner that somebody else has locked has
 * time until the next round.
 */
function forgottenSlotsSql({ slot, slot_owner: slotOwner }: Tables): string {
  return `
WITH locked AS MATERIALIZED (
  SELECT owner FROM ${slotOwner} WHERE owner IN (SELECT owner FROM ${slot} WHERE value IS NULL) ORDER BY owner FOR UPDATE SKIP LOCKED
), outlived AS MATERIALIZED (
  SELECT locked.owner, greatest(
    (SELECT max(version) FROM ${slot} AS slot WHERE slot.owner = locked.owner AND value IS NULL
      AND written < clock_timestamp() - ${REMOVED_FOR} * interval '1 millisecond'),
    (SELECT version FROM ${slot} AS slot WHERE slot.owner = locked.owner AND value IS NULL
      ORDER BY version DESC LIMIT 1 OFFSET ${MOST_REMOVED})) AS version
  FROM locked
), gone AS (
  DELETE FROM ${slot} AS slot USING outlived WHERE slot.owner = outlived.owner AND slot.value IS NULL AND slot.version <= outlived.version
)
UPDATE ${slotOwner} AS own SET forgotten = outlived.version FROM outlived
WHERE own.owner = outlived.owner AND outlived.version > own.forgotten`;
}
