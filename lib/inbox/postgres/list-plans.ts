import { SELF_TEST_ID } from '../../message/envelope';
import type { InboxFigures, ListQuery, MessageState, PlaceQuery } from '../model';
import { type Course, stepRow, type StepRow, type StoredMessage } from '../store/port';
import { MAX_LISTED, type PagedMessage, placesAsked } from '../store/stored-message';
import type { CallPlans } from './call-plans';
import {
  alarmKey,
  askedId,
  countsBy,
  type InboxClock,
  messageKey,
  type Row,
  storable,
  storedText,
  type Tables,
} from './tables';

/** What of a message is given, of `message` and its row of `work`, where it has one. */
export const STORED_COLUMNS = `message.sequence, message.delivery_id, message.station, message.id, message.named, message.fingerprint,
  message.endpoint, message.rank, message.first, message.ended, message.received, coalesce(work.state, message.state) AS state,
  coalesce(work.attempt, message.attempt) AS attempt, CASE WHEN work.sequence IS NULL THEN message.again ELSE work.again END AS again`;

/** The same, with what is in `body`. */
export const MESSAGE_WITH_BODY = `${STORED_COLUMNS}, body.facts, body.bytes`;

/** A message as `STORED_COLUMNS` give it, with its body where that was read. */
export function messageIn(row: Row): StoredMessage {
  const { facts, bytes, has_room: hasRoom = true } = row;
  const message: StoredMessage = {
    sequence: Number(row['sequence']),
    deliveryId: String(row['delivery_id']),
    station: storedText(row['station']),
    id: storedText(row['id']),
    named: row['named'] === true,
    fingerprint: storedText(row['fingerprint']),
    endpoint: storedText(row['endpoint']),
    state: row['state'] as MessageState,
    rank: row['rank'] === 1 ? 1 : 0,
    attempt: Number(row['attempt']),
    again: (row['again'] ?? undefined) as StoredMessage['again'],
    first: row['first'] === true,
    ended: row['ended'] === true,
    received: Number(row['received']),
  };
  if (facts === undefined || hasRoom !== true) return message;
  if (typeof facts !== 'string' || !(bytes instanceof Uint8Array)) return { ...message, isIncomplete: true };
  return { ...message, facts: storedText(facts), bytes };
}

/** As a list gives it, with `courseColumns`. */
function listedMessage(row: Row): StoredMessage {
  return { ...messageIn(row), ...listedCourse(row) };
}

function pagedMessage(row: Row): PagedMessage {
  const { alarm_key: alarm } = row;
  return { ...listedMessage(row), ...(typeof alarm === 'string' && { alarm }) };
}

/** What has become of it alone, as `courseColumns` give it. */
function listedCourse(row: Row): Pick<StoredMessage, 'course' | 'verdict'> & { steps?: StepRow[] } {
  const { verdict = null, judged = null, steps = null } = row;
  return {
    course: courseIn(row),
    ...(verdict !== null && {
      verdict: { verdict: verdict === 'real' ? 'real' : 'false', time: Number(judged) },
    }),
    ...(typeof steps === 'string' && { steps: stepsIn(steps) }),
  };
}

function courseIn({ delivered = null, instance = null, settled = null, settled_by: by = null }: Row): Course {
  return {
    ...(delivered !== null && { delivered: Number(delivered) }),
    ...(instance !== null && { instance: storedText(instance) }),
    ...(settled !== null && { settled: Number(settled) }),
    ...(by !== null && { settledBy: storedText(by) }),
  };
}

function stepsIn(text: string): StepRow[] {
  const rows = JSON.parse(text) as unknown[][];
  return rows.map(([place, time, step, attempt, actor, facts]) =>
    stepRow({
      place,
      time,
      step,
      attempt,
      actor: typeof actor === 'string' ? storedText(actor) : actor,
      facts,
    }),
  );
}

/** What has become of `message`, beside its row of `work`. @param isAsked an expression: whether its steps are wanted, too */
function courseColumns({ instance, history }: Tables, isAsked: string): string {
  return `coalesce(course.delivered, work.delivered) AS delivered, course.settled, course.actor AS settled_by,
  coalesce(course.instance, (SELECT sharing.name FROM ${instance} AS sharing WHERE sharing.epoch = work.holder)) AS instance,
  message.verdict, message.judged, CASE WHEN ${isAsked} THEN (
    SELECT coalesce(json_agg(json_build_array(step.place, step.time, step.step, step.attempt, step.actor, step.facts)
      ORDER BY step.place)::text, '[]')
    FROM ${history} AS step WHERE step.sequence = message.sequence) END AS steps`;
}

/** To be joined for `courseColumns`. */
export function courseOf({ course }: Tables): string {
  return `LEFT JOIN LATERAL (SELECT * FROM ${course} AS one WHERE one.sequence = message.sequence LIMIT 1) AS course ON true`;
}

/** Dead letters that nobody has dealt with; those that can be had again are in `work` alone. */
const DEAD = `message.state IN ('dead', 'conflict', 'stale') AND message.again IS DISTINCT FROM 'dismissed'`;
const NO_SELF_TEST = `NOT (message.state = 'other' AND message.id LIKE '${SELF_TEST_ID}%')`;

/** The messages of a page, of `message` and `work`. */
const PAGE: Readonly<Record<ListQuery['state'], string>> = {
  open: `work.state IN ('received', 'leased')`,
  settled: `message.state = 'delivered' AND work.sequence IS NULL`,
  dead: `coalesce(work.state, message.state) IN ('dead', 'conflict', 'stale') AND message.again IS DISTINCT FROM 'dismissed'`,
  filtered: `message.state = 'filtered'`,
  all: 'TRUE',
};

/** Before the first message that was received at a time. */
const BEFORE_FIRST = -1;
const FIRST = Number.MIN_SAFE_INTEGER;
const LAST = Number.MAX_SAFE_INTEGER;

/** The next whole number that a column can be compared with. */
function whole(number: number): number {
  return Math.ceil(Math.min(Math.max(number, FIRST), LAST));
}

/** What is shown of an inbox. All of it only reads, so that a database that waits for its standby can say so. */
export function listPlans(tables: Tables, clock: InboxClock) {
  const { work, message } = tables;
  return {
    isKnown: {
      line: 'side',
      sql: `SELECT 1 FROM ${message} WHERE key = $1::uuid LIMIT 1`,
      args: ({ station, id }) => [messageKey(station, true, id)],
      read: ([rows]) => rows.length > 0,
    },
    /** Newest first. */
    list: {
      line: 'side',
      givesBodies: () => true,
      sql: listKinds(tables),
      kind: ({ state, alarm, deliveryId, ...places }, isBare) => {
        const of = alarm === undefined ? placed(state, places) : 'alarm';
        return `${deliveryId === undefined ? of : 'one'}${isBare ? '_bare' : ''}`;
      },
      args: ({ since = 0, until = LAST, alarm, deliveryId, limit, history = false, ...places }) => {
        if (deliveryId !== undefined) return [FIRST, 1, history, LAST, askedId(deliveryId)];
        const period = [whole(since), Math.max(0, whole(limit)), history, whole(until)];
        if (alarm !== undefined) return [...period, alarmKey(alarm.station, alarm.alarmId)];
        return [...period, placesAsked(places) ?? []].flat();
      },
      read: ([rows]) => rows.map(listedMessage),
    },
    /** Of a period, oldest first. */
    page: {
      isRepeatable: true,
      sql: pageKinds(tables),
      kind: ({ state, bodies, ...places }) => `${placed(state, places)}${bodies ? '' : '_bare'}`,
      args: ({ since, until, after, limit, steps, ...places }) => {
        const { received, sequence } = after ?? { received: whole(since), sequence: BEFORE_FIRST };
        return [received, sequence, whole(until), limit, steps, placesAsked(places) ?? []].flat();
      },
      read: ([rows]) => rows.map(pagedMessage),
    },
    openByEndpoint: {
      line: 'side',
      sql: `SELECT endpoint, count(*) AS count FROM ${work} WHERE state IN ('received', 'leased') GROUP BY endpoint`,
      read: ([rows]) => countsBy('endpoint', rows),
    },
    figures: {
      line: 'side',
      sql: [oldestSql(tables), deadSql(tables), STANDBY],
      args: (endpoints) => [[endpoints.map(storable)], [], []],
      read: ([oldest, dead, [standby]]) => {
        for (const row of oldest) clock.heard(Number(row['clock'] ?? 0));
        const ages = oldest.map((row) => [
          storedText(row['endpoint']),
          Math.max(0, clock.now() - Number(row['stored'])),
        ]);
        const figures: InboxFigures = { oldest: Object.fromEntries(ages), dead: countsBy('station', dead) };
        figures.standby =
          standby?.['away'] === true ? 'away' : standby?.['waited_for'] === true ? 'there' : 'none';
        return figures;
      },
    },
    counts: {
      line: 'side',
      sql: [
        `SELECT message.station, coalesce(work.state, message.state) AS state,
          count(*) AS count, max(message.received) AS last
        FROM (SELECT sequence, station, state, received FROM ${message} AS message
          WHERE ${NO_SELF_TEST} ORDER BY sequence DESC LIMIT $1::bigint) AS message
        LEFT JOIN ${work} AS work USING (sequence) GROUP BY 1, 2`,
        `SELECT (SELECT count(*) FROM ${message} AS message WHERE ${DEAD}) AS dead,
          (SELECT count(*) FROM ${work} WHERE state = 'dead') AS exhausted`,
      ],
      args: ({ newest }) => [[newest], []],
      read: ([newest, [dead = {}]]) => ({
        newest: newest.map((row) => ({
          station: storedText(row['station']),
          state: storedText(row['state']) as MessageState,
          count: Number(row['count']),
          last: Number(row['last']),
        })),
        dead: Number(dead['dead']) + Number(dead['exhausted']),
        exhausted: Number(dead['exhausted']),
      }),
    },
  } satisfies Partial<CallPlans>;
}

function listKinds(tables: Tables): Record<string, string> {
  const { work, message } = tables;
  const page = (from: string): string => `SELECT message.sequence, message.received FROM ${from}
    ORDER BY message.received DESC, message.sequence DESC LIMIT $2::bigint`;
  const period = 'message.received >= $1::bigint AND message.received < $4::bigint';
  const all = `${message} AS message WHERE ${period}`;
  const ofState = (places: string): Record<ListQuery['state'], string> => {
    const some = `${all}${places}`;
    const atWork = `${message} AS message JOIN ${work} AS work USING (sequence) WHERE ${period}${places}`;
    return {
      open: page(`${atWork} AND work.state IN ('received', 'leased')`),
      settled: page(`${some} AND message.state = 'delivered'
      AND NOT EXISTS (SELECT FROM ${work} AS work WHERE work.sequence = message.sequence)`),
      filtered: page(`${some} AND message.state = 'filtered'`),
      dead: page(`((${page(`${some} AND ${DEAD}`)})
      UNION ALL (${page(`${atWork} AND work.state = 'dead'`)})) AS message`),
      all: page(`${some} AND ${NO_SELF_TEST}`),
    };
  };
  const pages = {
    ...placedKinds(ofState(''), ofState(ofPlaces(tables, '$5'))),
    alarm: page(`${all} AND message.alarm_key = $5::uuid`),
    one: page(`${all} AND message.delivery_id = $5::uuid`),
  };
  return kindsOf(pages, (text, bodies) =>
    listedSql(tables, text, { order: 'DESC', steps: '$3::boolean', bodies }),
  );
}

function pageKinds(tables: Tables): Record<string, string> {
  const { work, message } = tables;
  const some = Object.entries(PAGE).map(([state, condition]) => [
    state,
    `${condition}${ofPlaces(tables, '$6')}`,
  ]);
  return kindsOf(placedKinds(PAGE, Object.fromEntries(some)), (condition, bodies) => {
    const page = `SELECT message.sequence, message.received FROM ${message} AS message LEFT JOIN ${work} AS work USING (sequence)
  WHERE (message.received, message.sequence) > ($1::bigint, $2::bigint) AND message.received < $3::bigint AND ${condition}
  ORDER BY message.received, message.sequence LIMIT $4::bigint`;
    return listedSql(tables, page, { order: 'ASC', steps: '$5::boolean', bodies });
  });
}

/** By the places that are asked for, as `placesAsked` has them. */
function ofPlaces({ body }: Tables, asked: string): string {
  return ` AND NOT EXISTS (SELECT FROM json_array_elements(${asked}::json) AS kind (places) WHERE NOT EXISTS (
    SELECT FROM ${body} AS kept, json_array_elements_text(kind.places) AS one (place)
    WHERE kept.sequence = message.sequence AND strpos(kept.facts, one.place) > 0))`;
}

/** The kind of a question: where no place is asked for, with a plan of its own. */
function placed(state: ListQuery['state'], places: PlaceQuery): string {
  return placesAsked(places) === undefined ? state : `${state}_placed`;
}

function placedKinds(
  all: Readonly<Record<string, string>>,
  some: Readonly<Record<string, string>>,
): Record<string, string> {
  const kinds = Object.entries(some).map(([state, text]) => [`${state}_placed`, text]);
  return { ...all, ...Object.fromEntries(kinds) };
}

/** Each with bodies and without. */
function kindsOf(
  pages: Readonly<Record<string, string>>,
  sqlOf: (page: string, bodies: boolean) => string,
): Record<string, string> {
  const kinds = Object.entries(pages).flatMap(([kind, page]) => [
    [kind, sqlOf(page, true)],
    [`${kind}_bare`, sqlOf(page, false)],
  ]);
  return Object.fromEntries(kinds) as Record<string, string>;
}

/**
 * The messages of a page, with bodies as far as there is room: those beyond come without.
 * @param steps an expression: whether they are wanted
 */
function listedSql(
  tables: Tables,
  page: string,
  { order, steps, bodies }: { order: 'ASC' | 'DESC'; steps: string; bodies: boolean },
): string {
  const { work, message, body } = tables;
  const measured = `, measured AS (
  SELECT page.sequence, coalesce(sum(octet_length(body.bytes)) OVER (ORDER BY page.received ${order}, page.sequence ${order}
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) <= ${MAX_LISTED} AS has_room
  FROM page LEFT JOIN ${body} AS body USING (sequence)
)`;
  return `
WITH page AS MATERIALIZED (${page})${bodies ? measured : ''}
SELECT ${bodies ? `measured.has_room, ${MESSAGE_WITH_BODY}` : STORED_COLUMNS}, message.alarm_key, ${courseColumns(tables, steps)}
FROM ${bodies ? 'measured' : 'page'} JOIN ${message} AS message USING (sequence) LEFT JOIN ${work} AS work USING (sequence)
  ${courseOf(tables)}
  ${bodies ? `LEFT JOIN ${body} AS body ON body.sequence = message.sequence AND measured.has_room` : ''}
ORDER BY message.received ${order}, message.sequence ${order}`;
}

/** Of each rank the first to be delivered, and of these the older one. */
function oldestSql({ work, message, meta }: Tables): string {
  const first = (rank: 0 | 1): string => `(SELECT sequence FROM ${work} AS work
    WHERE work.endpoint = asked.endpoint AND work.state = 'received' AND work.rank = ${rank} ORDER BY sequence LIMIT 1)`;
  return `SELECT asked.endpoint, min(message.stored) AS stored,
      (SELECT value FROM ${meta} WHERE name = 'clock') AS clock
    FROM unnest($1::text[]) AS asked (endpoint)
    CROSS JOIN LATERAL (${first(0)} UNION ALL ${first(1)}) AS first
    JOIN ${message} AS message USING (sequence) GROUP BY asked.endpoint`;
}

function deadSql({ work, message }: Tables): string {
  return `SELECT station, count(*) AS count FROM (
      SELECT station FROM ${message} AS message WHERE ${DEAD}
      UNION ALL SELECT message.station FROM ${work} AS work JOIN ${message} AS message USING (sequence) WHERE work.state = 'dead'
    ) AS dead GROUP BY station`;
}

/** The settings of others, for those of a batch are its own; connections of this role whose commits wait for a standby in vain. */
const STANDBY = `SELECT current_setting('synchronous_standby_names') <> ''
    AND (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') <> 'local' AS waited_for,
  EXISTS (SELECT FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND clock_timestamp() - query_start > interval '5 seconds') AS away`;
