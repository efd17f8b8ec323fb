import { randomUUID } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { SELF_TEST_ID } from '../../message/envelope';
import type { ListedState } from '../model';
import type { LocalCall, StoreCalls } from '../store/port';
import { ORDERS, type Shown } from '../store/stored-message';

/** Made here: version 8 of RFC 9562, the layout of which is free. */
const OURS = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[\da-f]{4}-([\da-f]{12})$/;

/**
 * A UUID that ends in the sequence of its event, so that no index of delivery ids has to be written; before it the time, and 26
 * random bits, which tell it from that of another inbox.
 * @param sequence below 2 to the power of 48
 * @param time milliseconds since 1970
 */
export function makeDeliveryId(sequence: number, time: number): string {
  const at = hex(time);
  const random = randomUUID().slice(15, 24);
  return `${at.slice(0, 8)}-${at.slice(8)}-8${random}${hex(sequence)}`;
}

/** Undefined for that of an event that was spilled first, and for any other text. */
export function sequenceIn(deliveryId: string): number | undefined {
  const [, sequence] = OURS.exec(deliveryId) ?? [];
  return sequence === undefined ? undefined : Number.parseInt(sequence, 16);
}

function hex(number: number): string {
  return number.toString(16).padStart(12, '0');
}

/** An event, as statements name one. */
export type OneEvent = [sequence: number, deliveryId: string];

export function oneEvent(statements: Statements, deliveryId: string): OneEvent {
  const sequence = sequenceIn(deliveryId) ?? statements.spilledFirst.get(deliveryId)?.['sequence'];
  return [Number(sequence ?? 0), deliveryId];
}

/** The partial indexes are used only where a query has their condition in these words. */
const OPEN = `state IN ('received', 'leased')`;
const LEASED = `${OPEN} AND state = 'leased'`;
const DEAD = `state IN ('dead', 'conflict', 'stale')`;
/** A dead letter that nobody settled: it can be had again. */
const EXHAUSTED = `state = 'dead' AND again = 'attempts'`;
const NO_SELF_TEST = `NOT (state = 'other' AND substr(id, 1, ${SELF_TEST_ID.length}) = '${SELF_TEST_ID}')`;
/** Nothing becomes of it any more: it goes when it is old. Dead letters stay until somebody deals with them, or discards them. */
const FINAL = `(state IN ('delivered', 'conflict', 'stale', 'filtered', 'other') OR (state = 'dead' AND again IS 'dismissed'))`;

const COLUMNS = `sequence, delivery_id, station, id, named, fingerprint, endpoint, state, rank, attempt, again, first,
  ended, alarm_key, received, delivered, settled, settled_by, judged, verdict`;
const NEXT = `SELECT ${COLUMNS} FROM message WHERE endpoint = ? AND state = 'received'`;
/** Of its alarm. One that went to the flow before those before it, while they could not be had or were dead, is waited for, too. */
const NONE_OPEN_BEFORE = `(alarm IS NULL OR NOT EXISTS (
  SELECT 1 FROM message AS former WHERE former.endpoint = message.endpoint AND former.alarm_key = message.alarm_key
  AND former.station = message.station AND former.alarm = message.alarm
  AND former.${OPEN} AND (former.sequence < message.sequence OR former.state = 'leased')))`;
/** Of its alarm: none of these, as `alarmOf` names them. */
const NONE_BESIDE = `(alarm IS NULL OR station || char(10) || alarm NOT IN (SELECT value FROM json_each(?)))`;
/** One event. The id says of which sequence it is, and need not be looked for. */
const ONE = 'sequence = ? AND delivery_id = ?';
/** What the flow had may have been acted on: its next delivery is a further attempt, which does not count. */
const CUT_OFF = `SET state = 'received', cut_off = cut_off + at_flow,
  again = CASE at_flow WHEN 1 THEN 'restart' ELSE again END, at_flow = 0`;

/** As `placesAsked` has it. */
const OF_PLACES = `NOT EXISTS (SELECT 1 FROM json_each(?) AS kind WHERE NOT EXISTS (
  SELECT 1 FROM body, json_each(kind.value) AS place WHERE body.sequence = message.sequence AND instr(body.facts, place.value) > 0))`;

function inOrder(name: Shown['name'], condition: string, columns = COLUMNS, index = ''): string {
  const { order, behind, until } = ORDERS[name];
  return `SELECT ${columns} FROM message ${index}
    WHERE (received, sequence) ${behind} (?, ?) AND received ${until} ? AND ${condition}
    ORDER BY received ${order}, sequence ${order} LIMIT ?`;
}

/** By the time of receipt a list of what is open would have to walk past all that is not any more. */
const OF_OPEN = 'INDEXED BY message_open';

/** Of each kind of list: its messages; and of so many each, whether it is of the places that are asked for. */
function listsOf<Name extends Shown['name']>(
  name: Name,
  conditions: Readonly<Record<ListedState, string>>,
): Record<`${Name}-${ListedState}${'' | '-places'}`, string> {
  const texts = Object.entries(conditions).flatMap(([state, condition]) => {
    const index = name === 'list' && state === 'open' ? OF_OPEN : '';
    // Where no index leads to them, so many are looked at, of whatever state: it may be that of few.
    const isIndexed = name === 'list' && state === 'dead';
    const looked = inOrder(name, isIndexed ? condition : 'TRUE', 'sequence, received, state, again, id');
    const fits = `${isIndexed ? 'TRUE' : condition} AND ${OF_PLACES}`;
    return [
      [`${name}-${state}`, inOrder(name, condition, undefined, index)],
      [`${name}-${state}-places`, `SELECT sequence, received, ${fits} AS fits FROM (${looked}) AS message`],
    ];
  });
  return Object.fromEntries(texts) as Record<`${Name}-${ListedState}${'' | '-places'}`, string>;
}

/** Of what a condition says of `message`. Which time, step, attempt, actor and facts is given; `attempt` may be its own. */
function note(condition: string, attempt = '?'): string {
  return `INSERT INTO history (sequence, place, time, step, attempt, actor, facts)
    SELECT sequence, (SELECT ifnull(max(place), 0) + 1 FROM history WHERE history.sequence = message.sequence), ?, ?, ${attempt}, ?, ?
    FROM message WHERE ${condition}`;
}

/** All that is asked of the tables; they are made in `schema`. */
const SQL = {
  // What comes in.
  copy: `SELECT delivery_id, sequence, fingerprint, copy, state, attempt FROM message
    WHERE sequence = ? AND station = ? AND id = ? AND named = ?`,
  ofAlarm: 'SELECT is_end, ended FROM message WHERE sequence = ? AND station = ? AND alarm = ?',
  openOfAlarm: `SELECT 1 FROM message WHERE endpoint = ? AND alarm_key = ? AND station = ? AND alarm = ? AND ${OPEN} LIMIT 1`,
  insert: `INSERT INTO message (sequence, delivery_id, station, id, named, copy, fingerprint, endpoint, state, rank, attempt,
    at_flow, first, ended, alarm, is_end, received, stored, id_key, alarm_key, delivered, node)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  bring: `UPDATE message SET delivery_id = ?, state = ?, attempt = ?, cut_off = ?, at_flow = ?, again = ?, delivered = ?,
    settled = ?, settled_by = ?, judged = ?, verdict = ? WHERE sequence = ?`,
  bringStep:
    'INSERT INTO history (sequence, place, time, step, attempt, actor, facts) VALUES (?, ?, ?, ?, ?, ?, ?)',
  endOpenOfAlarm: `UPDATE message SET ended = 1
    WHERE endpoint = ? AND alarm_key = ? AND station = ? AND alarm = ? AND ${OPEN} AND sequence <> ?`,
  insertBody: 'INSERT INTO body (sequence, facts, bytes) VALUES (?, ?, ?)',

  // What goes to the flow, and comes back.
  next: `${NEXT} ORDER BY rank, sequence LIMIT ?`,
  nextOrdered: `${NEXT} AND ${NONE_OPEN_BEFORE} AND ${NONE_BESIDE} ORDER BY rank, sequence LIMIT ?`,
  lease: `UPDATE message SET state = 'leased', at_flow = 1, attempt = attempt + 1, delivered = ifnull(delivered, ?)
    WHERE sequence = ?`,
  leased: `SELECT delivery_id FROM message WHERE endpoint = ? AND ${LEASED}`,
  unsend: `UPDATE message SET state = 'received', at_flow = 0, attempt = attempt - 1,
    delivered = CASE attempt WHEN 1 THEN NULL ELSE delivered END WHERE ${ONE} AND state = 'leased' AND at_flow = 1`,
  cutOff: `UPDATE message ${CUT_OFF} WHERE ${ONE} AND state = 'leased'`,
  cutOffAll: `UPDATE message ${CUT_OFF} WHERE ${LEASED}`,
  attempts: `SELECT attempt - cut_off AS counted FROM message WHERE ${ONE} AND state = 'leased'`,
  lapse: `UPDATE message SET state = ?, at_flow = 0, again = ? WHERE ${ONE}`,
  again: `UPDATE message SET at_flow = 1, attempt = attempt + 1 WHERE ${ONE} AND state = 'leased'
    RETURNING attempt`,

  // What becomes of it.
  end: `UPDATE message SET state = ?, at_flow = 0, settled = ?, settled_by = ? WHERE ${ONE} AND ${OPEN}`,
  revive: `UPDATE message SET state = 'received', cut_off = attempt, again = 'retry'
    WHERE ${ONE} AND (${EXHAUSTED} OR state = 'filtered') RETURNING endpoint`,
  bury: `UPDATE message SET state = ?, again = NULL, settled = ?, settled_by = ? WHERE ${ONE} AND ${EXHAUSTED}`,
  dismiss: `UPDATE message SET again = 'dismissed' WHERE ${ONE} AND ${DEAD}`,

  judge: `UPDATE message SET verdict = ?, judged = ? WHERE ${ONE}`,

  // What is told of it later.
  note: note(ONE),
  noteMoved: note(`endpoint = ? AND ${OPEN}`),
  noteMovedDead: note(`endpoint = ? AND ${DEAD}`),
  noteCutOff: note(`${ONE} AND state = 'leased' AND at_flow = 1`, 'attempt'),
  noteCutOffAll: note(`${LEASED} AND at_flow = 1`, 'attempt'),
  isNoted: 'SELECT 1 FROM history WHERE sequence = ? AND time = ? AND step = ? AND facts IS ?',
  history: 'SELECT place, time, step, attempt, actor, facts FROM history WHERE sequence = ? ORDER BY place',
  forgetUnsent: `DELETE FROM history WHERE sequence = ? AND step = 'delivered'
    AND attempt > (SELECT attempt FROM message WHERE message.sequence = history.sequence)`,
  trimHistory: `DELETE FROM history WHERE sequence = ?1
    AND place <= (SELECT max(place) FROM history WHERE sequence = ?1) - ?2`,
  deleteHistory: 'DELETE FROM history WHERE sequence = ?',

  // What is there.
  find: `SELECT ${COLUMNS} FROM message WHERE ${ONE}`,
  // Of an event that was spilled first: in the words of its index.
  spilledFirst: `SELECT sequence FROM message WHERE delivery_id = ? AND substr(delivery_id, 15, 1) <> '8'`,
  count: 'SELECT count(*) AS count FROM message',
  newest: 'SELECT sequence, received FROM message ORDER BY sequence DESC LIMIT 1',
  waiting: `SELECT endpoint, count(*) AS count FROM message WHERE state = 'received' GROUP BY endpoint`,
  // Each row is next to the one before it, so that many are read in a moment.
  countsOfNewest: `SELECT station, state, count(*) AS count, max(received) AS last FROM (
    SELECT station, state, received FROM message WHERE ${NO_SELF_TEST} ORDER BY sequence DESC LIMIT ?) GROUP BY station, state`,
  countsOfDead: `SELECT count(*) AS count, total(${EXHAUSTED}) AS exhausted FROM message WHERE ${DEAD} AND again IS NOT 'dismissed'`,
  ...listsOf('list', {
    open: OPEN,
    settled: `state = 'delivered'`,
    dead: `${DEAD} AND again IS NOT 'dismissed'`,
    filtered: `state = 'filtered'`,
    all: NO_SELF_TEST,
  }),
  ...listsOf('page', {
    open: `+${OPEN}`,
    settled: `state = 'delivered'`,
    dead: `+${DEAD} AND again IS NOT 'dismissed'`,
    filtered: `state = 'filtered'`,
    all: 'TRUE',
  }),
  // Its index is in no order of time: that would be walked for each slice. One that is gone meanwhile fits no place.
  allOpen: inOrder('list', OPEN, 'sequence', OF_OPEN),
  'list-open-places': `SELECT value AS sequence, ${OPEN} AND ${OF_PLACES} AS fits
    FROM json_each(?) LEFT JOIN message ON sequence = value ORDER BY key`,
  listAlarm: inOrder('list', 'station = ? AND alarm = ?'),
  listed: `SELECT ${COLUMNS} FROM message WHERE sequence = ?`,
  body: 'SELECT facts, bytes FROM body WHERE sequence = ?',

  // Of a spare.
  kept: `SELECT ${COLUMNS}, alarm, node, length(bytes) AS size FROM message LEFT JOIN body USING (sequence) ORDER BY sequence`,
  keysOf: `SELECT sequence, id_key, alarm_key FROM message WHERE ${ONE}`,
  moveNode: 'UPDATE message SET endpoint = ?2 WHERE node = ?1 AND endpoint <> ?2',
  renameNode: 'UPDATE message SET node = ?1 WHERE node = ?2',
  giveNode: 'UPDATE message SET node = ?1, endpoint = ?2 WHERE endpoint = ?3',
  setFacts: 'UPDATE body SET facts = ? WHERE sequence = ?',
  anyWaits: `SELECT 1 FROM message WHERE endpoint = ? AND state = 'received' LIMIT 1`,
  openAlarms: `SELECT DISTINCT station || char(10) || alarm AS alarm FROM message WHERE endpoint = ? AND ${OPEN} AND alarm IS NOT NULL`,

  // What is kept no more.
  aging: `SELECT sequence, stored, id_key, alarm_key, ${FINAL} AS final FROM message WHERE sequence > ? ORDER BY sequence LIMIT ?`,
  deleteMessage: 'DELETE FROM message WHERE sequence = ?',
  deleteBody: 'DELETE FROM body WHERE sequence = ?',

  // What nothing proved.
  quarantine: 'INSERT INTO quarantine (endpoint, address, facts, bytes, stored) VALUES (?, ?, ?, ?, ?)',
  quarantined: 'SELECT id, endpoint, address, facts, bytes FROM quarantine WHERE endpoint = ? ORDER BY id',
  quarantinedSums: `SELECT sum.endpoint, sum.count, sum.id, newest.facts
    FROM (SELECT endpoint, count(*) AS count, max(id) AS id FROM quarantine GROUP BY endpoint) AS sum
    JOIN quarantine AS newest ON newest.id = sum.id`,
  quarantineSize: 'SELECT count(*) AS count, total(length(bytes)) AS bytes FROM quarantine',
  release: 'DELETE FROM quarantine WHERE id = ?',
  releaseUpTo: 'DELETE FROM quarantine WHERE endpoint = ? AND id <= ?',
  releaseOld: 'DELETE FROM quarantine WHERE stored < ?',
  // All but so many of the newest.
  trim: 'DELETE FROM quarantine WHERE id IN (SELECT id FROM quarantine ORDER BY id DESC LIMIT -1 OFFSET ?)',
  trimAddress: `DELETE FROM quarantine WHERE id IN
    (SELECT id FROM quarantine WHERE address = ? ORDER BY id DESC LIMIT -1 OFFSET ?)`,

  // Which node has which endpoint.
  claimEndpoint: `INSERT INTO endpoint (endpoint, node, is_current) VALUES (?, ?, 1)
    ON CONFLICT (endpoint, node) DO UPDATE SET is_current = 1`,
  formerEndpoints: 'UPDATE endpoint SET is_current = 0 WHERE node = ? AND endpoint <> ?',
  // Of where it was before, it has nothing any more: whoever has that next keeps it.
  forgetFormer: 'DELETE FROM endpoint WHERE node = ? AND endpoint <> ?',
  leaveEndpoint: 'UPDATE endpoint SET is_current = 0 WHERE node = ?',
  // Those that the node had, and that no node has now; and its own id, under which events wait while nodes exchange their paths.
  endpointsLeft: `SELECT endpoint FROM (SELECT endpoint FROM endpoint WHERE node = ? UNION SELECT ?) AS had
    WHERE endpoint <> ? AND NOT EXISTS (SELECT 1 FROM endpoint AS current
      WHERE current.endpoint = had.endpoint AND current.is_current = 1)`,
  waitingAt: `SELECT count(*) AS count FROM message WHERE endpoint = ? AND state = 'received'`,
  // Two statements: for either condition alone there is an index.
  moveOpen: `UPDATE message SET endpoint = ? WHERE endpoint = ? AND ${OPEN}`,
  moveDead: `UPDATE message SET endpoint = ? WHERE endpoint = ? AND ${DEAD}`,
  moveQuarantined: 'UPDATE quarantine SET endpoint = ? WHERE endpoint = ?',
  oldestAt: `SELECT stored FROM message WHERE endpoint = ? AND rank = ? AND state = 'received' ORDER BY sequence LIMIT 1`,
  deadByStation: `SELECT station, count(*) AS count FROM message WHERE ${DEAD} AND again IS NOT 'dismissed' GROUP BY station`,
  openByEndpoint: `SELECT endpoint, count(*) AS count FROM message WHERE ${OPEN} GROUP BY endpoint`,

  // What flows keep.
  slotOwner: 'SELECT version, forgotten FROM slot_owner WHERE owner = ?',
  setSlotOwner: `INSERT INTO slot_owner (owner, version, forgotten) VALUES (?, ?, 0)
    ON CONFLICT (owner) DO UPDATE SET version = excluded.version`,
  slot: 'SELECT name, version, value, ends FROM slot WHERE owner = ? AND name = ? AND value IS NOT NULL',
  slots: 'SELECT name, version, value, ends FROM slot WHERE owner = ? AND value IS NOT NULL ORDER BY version',
  slotsSince: 'SELECT name, version, value, ends FROM slot WHERE owner = ? AND version > ? ORDER BY version',
  putSlot: `INSERT INTO slot (owner, name, version, value, ends, written) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (owner, name) DO UPDATE SET version = excluded.version, value = excluded.value, ends = excluded.ends,
      written = excluded.written`,
  slotOwners: `SELECT owner FROM slot_owner WHERE substr(owner, 1, length(?1)) = ?1
    AND EXISTS (SELECT 1 FROM slot WHERE slot.owner = slot_owner.owner AND value IS NOT NULL) ORDER BY owner`,
  slotOwnersRemoved: 'SELECT DISTINCT owner FROM slot WHERE value IS NULL',
  // The newest that nobody needs to know of any more: too old, or too many after it.
  slotForgotten: `SELECT max(version) AS version FROM slot WHERE owner = ?1 AND value IS NULL AND (written < ?2
    OR version <= (SELECT version FROM slot WHERE owner = ?1 AND value IS NULL ORDER BY version DESC LIMIT 1 OFFSET ?3))`,
  forgetSlots: 'DELETE FROM slot WHERE owner = ? AND value IS NULL AND version <= ?',
  setForgotten: 'UPDATE slot_owner SET forgotten = ?2 WHERE owner = ?1',

  // What the file knows of itself.
  setMeta: 'INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
} as const;

/** The statements of an inbox, prepared. */
export type Statements = Record<keyof typeof SQL, StatementSync>;

export function prepareStatements(database: DatabaseSync): Statements {
  const prepared = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)] as const);
  return Object.fromEntries(prepared) as Statements;
}

/** What a statement gives. */
export type Row = Record<string, SQLOutputValue>;

/** What a store does for each of its calls. */
export type Work = { [Name in LocalCall]: (take: StoreCalls[Name]['take']) => StoreCalls[Name]['give'] };
