import { SELF_TEST_ID } from '../../message/envelope';
import type { InboxFigures, ListQuery } from '../model';
import type { StepRow, StoredMessage } from '../store/port';
import { isOfPlaces, MAX_LISTED, ORDERS, periodOf, placesAsked, type Shown } from '../store/stored-message';
import { countsBy, listedMessage, type Row, stateCountIn, stepRow, storedMessage } from '../store/stored-row';
import type { CallPlans } from './call-plans';
import { alarmKey, askedId, type InboxClock, messageKey, storedText, type Tables, texts } from './tables';

/** What of a message is given, of `message` and its row of `work`, where it has one. */
export const STORED_COLUMNS = `message.sequence, message.delivery_id, message.station, message.id, message.named, message.fingerprint,
  message.endpoint, message.rank, message.first, message.ended, message.received, coalesce(work.state, message.state) AS state,
  coalesce(work.attempt, message.attempt) AS attempt, CASE WHEN work.sequence IS NULL THEN message.again ELSE work.again END AS again`;

/** The same, with what is in `body`. */
export const MESSAGE_WITH_BODY = `${STORED_COLUMNS}, body.facts, body.bytes`;

/** A message as `STORED_COLUMNS` give it, with its body where that was read. */
export function messageIn(row: Row): StoredMessage {
  return withBody(storedMessage(row), row);
}

function withBody(message: StoredMessage, { facts, bytes, has_room: hasRoom = true }: Row): StoredMessage {
  if (facts === undefined || hasRoom !== true) return message;
  if (typeof facts !== 'string' || !(bytes instanceof Uint8Array)) return { ...message, isIncomplete: true };
  return { ...message, facts, bytes };
}

/** As a list gives it, with `courseColumns`. */
function shownMessage(row: Row): StoredMessage {
  const { steps } = row;
  return {
    ...withBody(listedMessage(row), row),
    ...(typeof steps === 'string' && { steps: stepsIn(steps) }),
  };
}

function stepsIn(text: string): StepRow[] {
  const rows = JSON.parse(text) as Row[];
  return rows.map(({ actor, ...row }) =>
    stepRow({ ...row, actor: typeof actor === 'string' ? storedText(actor) : actor }),
  );
}

/** What has become of `message`, beside its row of `work`; with its steps where $5 says so. */
function courseColumns({ instance, history }: Tables): string {
  return `coalesce(course.delivered, work.delivered) AS delivered, course.settled, course.actor AS settled_by,
  coalesce(course.instance, (SELECT sharing.name FROM ${instance} AS sharing WHERE sharing.epoch = work.holder)) AS instance,
  message.verdict, message.judged, CASE WHEN $5::boolean THEN (
    SELECT coalesce(json_agg(noted ORDER BY noted.place)::text, '[]') FROM ${history} AS noted WHERE noted.sequence = message.sequence) END AS steps`;
}

/** Dead letters that nobody has dealt with; those that can be had again are in `work` alone. */
const DEAD = `message.state IN ('dead', 'conflict', 'stale') AND message.again IS DISTINCT FROM 'dismissed'`;
const NO_SELF_TEST = `NOT (message.state = 'other' AND message.id LIKE '${SELF_TEST_ID}%')`;

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
    list: {
      line: 'side',
      givesBodies: () => true,
      sql: (take, isBare) => shownSql(tables, { name: 'list', take }, !isBare),
      args: (take) => shownArgs({ name: 'list', take }, take.history === true),
      read: ([rows]) => rows.map(shownMessage),
    },
    page: {
      line: 'side',
      isRepeatable: true,
      sql: (take) => shownSql(tables, { name: 'page', take }, take.bodies),
      args: (take) => shownArgs({ name: 'page', take }, take.steps),
      read: ([rows]) => rows.map(shownMessage),
    },
    openByEndpoint: {
      line: 'side',
      sql: `SELECT endpoint, count(*) AS count FROM ${work} WHERE state IN ('received', 'leased') GROUP BY endpoint`,
      read: ([rows]) => countsBy('endpoint', rows),
    },
    figures: {
      line: 'side',
      sql: [oldestSql(tables), deadSql(tables), STANDBY],
      args: (endpoints) => [[texts(endpoints)], [], []],
      read: ([oldest, dead, [standby]]) => {
        for (const row of oldest) clock.heard(Number(row['clock'] ?? 0));
        const ages = oldest.map((row) => [
          String(row['endpoint']),
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
        newest: newest.map(stateCountIn),
        dead: Number(dead['dead']) + Number(dead['exhausted']),
        exhausted: Number(dead['exhausted']),
      }),
    },
  } satisfies Partial<CallPlans>;
}

function shownArgs(asked: Shown, steps: boolean): unknown[] {
  const { alarm, deliveryId, limit } = asked.take as ListQuery;
  const ofOne = { name: 'list', take: { since: FIRST } } as const;
  const [received, sequence, end] = periodOf(deliveryId === undefined ? asked : ofOne);
  const places = isOfPlaces(asked) ? placesAsked(asked.take) : undefined;
  const ofAlarm = alarm === undefined ? places : alarmKey(alarm.station, alarm.alarmId);
  const of = deliveryId === undefined ? ofAlarm : askedId(deliveryId);
  return [whole(received), sequence, whole(end), Math.max(0, whole(limit)), steps, of ?? []].flat();
}

/** By the places that are asked for, $6, as `placesAsked` has them. */
function ofPlaces({ body }: Tables): string {
  return ` AND NOT EXISTS (SELECT FROM json_array_elements($6::json) AS kind (places) WHERE NOT EXISTS (
    SELECT FROM ${body} AS kept, json_array_elements_text(kind.places) AS one (place)
    WHERE kept.sequence = message.sequence AND strpos(kept.facts, one.place) > 0))`;
}

/** The messages of a list or a page, without their order. */
function foundSql(tables: Tables, asked: Shown): string {
  const { work, message } = tables;
  const { order, behind, until } = ORDERS[asked.name];
  const { state, alarm, deliveryId } = asked.take as ListQuery;
  const places = isOfPlaces(asked) ? ofPlaces(tables) : '';
  const inOrder = (from: string): string => `SELECT message.sequence, message.received FROM ${from}
    ORDER BY message.received ${order}, message.sequence ${order} LIMIT $4::bigint`;
  const found = (from: string, condition: string): string =>
    inOrder(`${message} AS message ${from} WHERE (message.received, message.sequence) ${behind} ($1::bigint, $2::bigint)
      AND message.received ${until} $3::bigint AND ${condition}${places}`);
  const all = (condition: string): string => found('', condition);
  const atWork = (condition: string): string => found(`JOIN ${work} AS work USING (sequence)`, condition);
  if (deliveryId !== undefined) return all('message.delivery_id = $6::uuid');
  if (alarm !== undefined) return all('message.alarm_key = $6::uuid');
  const ofState = {
    open: () => atWork(`work.state IN ('received', 'leased')`),
    settled: () =>
      all(`message.state = 'delivered'
        AND NOT EXISTS (SELECT FROM ${work} AS work WHERE work.sequence = message.sequence)`),
    filtered: () => all(`message.state = 'filtered'`),
    dead: () => inOrder(`((${all(DEAD)}) UNION ALL (${atWork(`work.state = 'dead'`)})) AS message`),
    all: () => all(asked.name === 'list' ? NO_SELF_TEST : 'true'),
  };
  return ofState[state]();
}

/** With bodies as far as there is room: messages beyond come without. */
function shownSql(tables: Tables, asked: Shown, bodies: boolean): string {
  const { work, message, body, course } = tables;
  const { order } = ORDERS[asked.name];
  const measured = `, measured AS (
  SELECT page.sequence, coalesce(sum(octet_length(body.bytes)) OVER (ORDER BY page.received ${order}, page.sequence ${order}
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) <= ${MAX_LISTED} AS has_room
  FROM page LEFT JOIN ${body} AS body USING (sequence)
)`;
  return `
WITH page AS MATERIALIZED (${foundSql(tables, asked)})${bodies ? measured : ''}
SELECT ${bodies ? `measured.has_room, ${MESSAGE_WITH_BODY}` : STORED_COLUMNS}, message.alarm_key, ${courseColumns(tables)}
FROM ${bodies ? 'measured' : 'page'} JOIN ${message} AS message USING (sequence) LEFT JOIN ${work} AS work USING (sequence)
  LEFT JOIN LATERAL (SELECT * FROM ${course} AS one WHERE one.sequence = message.sequence LIMIT 1) AS course ON true
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
