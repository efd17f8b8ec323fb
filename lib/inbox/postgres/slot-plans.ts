import {
  MOST_REMOVED,
  REMOVED_FOR,
  type SlotRow,
  type SlotRowOutcome,
  type SlotRowWrite,
} from '../store/port';
import { type CallLocks, type CallPlans, nothing } from './call-plans';
import {
  byNumber,
  integers,
  type Row,
  type Statement,
  storable,
  storedText,
  type Tables,
  texts,
} from './tables';

/** Stands for what is absent, in an array of whole numbers. */
const NONE = -1;
const LEFT = `extract(epoch FROM slot.ends - clock_timestamp()) * 1000`;

/**
 * What flows keep, by owner and name. Whoever changes slots of an owner locks its row until the commit: so its versions can be
 * seen in the order in which they were counted, and who asks for what has changed since one of them misses nothing.
 */
export function slotPlans(tables: Tables) {
  const { slot, slot_owner: slotOwner, tellSlots } = tables;
  const put: Statement = { name: 'rvm_put_slots', text: putSql(tables) };
  return {
    putSlots: {
      line: 'slots',
      phase: 'slots',
      bytes: ({ writes }) => writes.reduce((sum, { value = '' }) => sum + value.length, 0),
      steps: (requests, epoch) =>
        requests.map(({ id, take: { owner, writes } }) => {
          const runs = runsOf(writes);
          return {
            statements: runs.map((run) => [put, [storable(owner), epoch, ...columnsOf(run)]]),
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
      args: ({ owner }, epoch) => [storable(owner), epoch],
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
      args: ({ owner, since }) => [storable(owner), since],
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
      args: (prefix) => [storable(prefix)],
      read: ([rows]) => rows.map((row) => storedText(row['owner'])),
    },
    slotVersions: {
      line: 'slots',
      isRepeatable: true,
      sql: `SELECT owner, version FROM ${slotOwner} WHERE owner = ANY ($1::text[])`,
      args: (owners) => [texts(owners.map(storable))],
      read: ([rows], owners) => {
        const versions = Object.fromEntries(owners.map((owner) => [owner, 0]));
        for (const row of rows) versions[storedText(row['owner'])] = Number(row['version']);
        return versions;
      },
    },
  } satisfies Partial<CallPlans>;
}

/** Sorted, where they are made and where they are locked, so that no two instances wait for each other. */
export function slotLocks({ slot_owner: slotOwner }: Tables): CallLocks['lockOwners'] {
  const make: Statement = {
    name: 'rvm_make_slot_owners',
    text: `INSERT INTO ${slotOwner} (owner) SELECT owner FROM unnest($1::text[]) AS asked (owner) ORDER BY owner
      ON CONFLICT (owner) DO NOTHING`,
  };
  // A statement of its own: what comes behind it sees all that was committed before.
  const lock: Statement = {
    name: 'rvm_lock_slot_owners',
    text: `SELECT FROM ${slotOwner} WHERE owner = ANY ($1::text[]) ORDER BY owner FOR UPDATE`,
  };
  return (owners) => {
    const values = [texts([...new Set(owners.map(storable))])];
    return {
      statements: [
        [make, values],
        [lock, values],
      ],
    };
  };
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
    texts(writes.map(({ name }) => storable(name))),
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
    name: storedText(row['name']),
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
export function forgottenSlotsSql({ slot, slot_owner: slotOwner }: Tables): string {
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
