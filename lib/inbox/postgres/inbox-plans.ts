import { randomBytes } from 'node:crypto';
import { Acceptances } from './accept-plan';
import { BatchPlanner, type CallPlans, nothing } from './call-plans';
import { endpointPlans } from './endpoint-plans';
import { eventPlans } from './event-plans';
import { listPlans } from './list-plans';
import { forgottenSlotsSql, slotLocks, slotPlans } from './slot-plans';
import { InboxClock, type Row, storedText, type Tables, tablesOf } from './tables';

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
    ...acceptances.plans(),
    ...listPlans(tables, clock),
    ...slotPlans(tables),
    ...retentionPlans(tables, clock),
    ...inboxPlans(tables),
  };
  return new BatchPlanner(tables, plans, { keysOf: acceptances.keysOf, lockOwners: slotLocks(tables) });
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
      sql: `SELECT epoch, name, greatest(0, extract(epoch FROM clock_timestamp() - beat) * 1000)::bigint AS since_beat,
          (SELECT count(*) FROM ${work} AS work WHERE work.holder = instance.epoch AND work.state = 'leased') AS held
        FROM ${instance} AS instance ORDER BY begun, epoch`,
      read: ([rows], _take, epoch) =>
        rows.map((row) => ({
          epoch: String(row['epoch']),
          name: storedText(row['name']),
          sinceBeat: Number(row['since_beat']),
          held: Number(row['held']),
          isSelf: row['epoch'] === epoch,
        })),
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

/** How far a pass has come: this sequence; and what was stored before this time, when it began. */
interface Pass {
  sequence: number;
  from: number;
}

/**
 * Retention: removes what is final and old, by order of insertion: it stops at the first row that is younger. Several instances
 * may be at it at once; what one has removed, the other does not find.
 */
function retentionPlans(tables: Tables, clock: InboxClock) {
  const { meta, quarantine, body, history, course, message } = tables;
  const done = { bodies: { sequence: 0, from: 0 }, messages: { sequence: 0, from: 0 } };
  /** From the start again once a day, for what was open then may be final now. */
  const passArgs = (pass: Pass, age: number): [number, number] => {
    const before = clock.now() - age;
    if (before - pass.from > DAY) Object.assign(pass, { sequence: 0, from: before });
    return [pass.sequence, Math.round(age)];
  };
  /** @returns whether there is more to remove */
  const passed = (pass: Pass, [row = {}]: readonly Row[]): boolean => {
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
  WHERE message.sequence > $1::bigint ORDER BY message.sequence LIMIT ${PASS}
), old AS MATERIALIZED (
  SELECT sequence, is_final FROM aging
  WHERE sequence < coalesce((SELECT min(sequence) FROM aging WHERE is_young), 9223372036854775807)
)${removals.join('')}
SELECT max(sequence) AS sequence, count(*) AS count FROM old`;
}
