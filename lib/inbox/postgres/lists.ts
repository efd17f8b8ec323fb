import { SELF_TEST_ID } from '../../message/envelope';
import type { InboxCounts, InboxFigures, ListQuery, MessageState } from '../model';
import { type Course, stepRow, type StepRow, type StoredMessage } from '../store/port';
import type { PagedMessage } from '../store/stored-pages';
import { MAX_LISTED } from '../store/stored-message';
import {
  alarmKey,
  askedId,
  courseColumns,
  courseOf,
  type InboxClock,
  type Plan,
  type Request,
  type Row,
  type Step,
  storable,
  storedText,
  type Tables,
} from './sql';

/** What of a message is given, of `message` and its row of `work`, where it has one. */
export const STORED_COLUMNS = `message.sequence, message.delivery_id, message.station, message.id, message.named, message.fingerprint,
  message.endpoint, message.rank, message.first, message.ended, message.received, coalesce(work.state, message.state) AS state,
  coalesce(work.attempt, message.attempt) AS attempt, CASE WHEN work.sequence IS NULL THEN message.again ELSE work.again END AS again`;

/** The same, with what is in `body`. */
export const MESSAGE_WITH_BODY = `${STORED_COLUMNS}, body.facts, body.bytes`;

/** A message as `STORED_COLUMNS` give it. */
export function storedMessage(row: Row): StoredMessage {
  return {
    sequence: Number(row['sequence']),
    deliveryId: String(row['delivery_id']),
    station: storedText(row['station']),
    id: storedText(row['id']),
    named: row['named'] === true,
    fingerprint: storedText(row['fingerprint']),
    endpoint: storedText(row['endpoint']),
    // It will wait here once all of its inbox has come.
    state: row['state'] as MessageState,
    rank: row['rank'] === 1 ? 1 : 0,
    attempt: Number(row['attempt']),
    again: (row['again'] ?? undefined) as StoredMessage['again'],
    first: row['first'] === true,
    ended: row['ended'] === true,
    received: Number(row['received']),
  };
}

/** A message as a list returns it: with `courseColumns`, and with its body where there was room. */
function listedMessage(row: Row): StoredMessage {
  const message = row['has_room'] === true ? messageWithBody(row) : storedMessage(row);
  return { ...message, ...listedCourse(row) };
}

/** What has become of it alone, as `courseColumns` give it. */
export function listedCourse(row: Row): Pick<StoredMessage, 'course' | 'verdict'> & { steps?: StepRow[] } {
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

/** A message with its body, from the columns `MESSAGE_WITH_BODY`. */
export function messageWithBody(row: Row): StoredMessage {
  const message = storedMessage(row);
  const { facts, bytes } = row;
  if (typeof facts !== 'string' || !(bytes instanceof Uint8Array)) return { ...message, isIncomplete: true };
  message.facts = storedText(facts);
  message.bytes = bytes;
  return message;
}

/** What a list is asked for, each with the rows that it is of. */
type Kind = ListQuery['state'] | 'alarm' | 'one';

const PERIOD = 'message.received >= $1::bigint AND message.received < $4::bigint';

/** Less than nothing: for a list that reads no body, not even the first. */
export const NO_BODIES = -1;

/** Lists messages, newest first. */
export class ListPlans {
  readonly #list: Readonly<Record<Kind, Plan>>;

  /** @param maxBytes of the bodies that a list reads: those beyond come without; all of them where it is `NO_BODIES` */
  constructor(tables: Tables, maxBytes: number) {
    const statement = (kind: Kind, page: string): Plan => ({
      name: `rvm_list_${kind}${maxBytes === NO_BODIES ? '_bare' : ''}`,
      text: listSql(tables, page, maxBytes),
    });
    const { work, message } = tables;
    const all = `${message} AS message WHERE ${PERIOD}`;
    this.#list = {
      open: statement(
        'open',
        pageOf(`${message} AS message JOIN ${work} AS work USING (sequence)
        WHERE ${PERIOD} AND work.state IN ('received', 'leased')`),
      ),
      settled: statement(
        'settled',
        pageOf(`${all} AND message.state = 'delivered'
        AND NOT EXISTS (SELECT FROM ${work} AS work WHERE work.sequence = message.sequence)`),
      ),
      filtered: statement('filtered', pageOf(`${all} AND message.state = 'filtered'`)),
      dead: statement('dead', pageOf(`(${deadPage(tables)}) AS message`)),
      all: statement(
        'all',
        pageOf(`${all} AND NOT (message.state = 'other' AND message.id LIKE '${SELF_TEST_ID}%')`),
      ),
      alarm: statement('alarm', pageOf(`${all} AND message.alarm_key = $5::uuid`)),
      one: statement('one', pageOf(`${all} AND message.delivery_id = $5::uuid`)),
    };
  }

  list({ id, take }: Request<'list'>): Step {
    const { state, since = 0, until = LAST, alarm, deliveryId, limit, history = false } = take;
    const read: Step['read'] = (rows) => [{ id, give: rows.map(listedMessage) }];
    if (deliveryId !== undefined)
      return { statement: this.#list.one, values: [FIRST, 1, history, LAST, askedId(deliveryId)], read };
    const page = [whole(since), Math.max(0, whole(limit)), history, whole(until)];
    if (alarm === undefined) return { statement: this.#list[state], values: page, read };
    return {
      statement: this.#list.alarm,
      values: [...page, alarmKey(alarm.station, alarm.alarmId)],
      read,
    };
  }
}

const FIRST = Number.MIN_SAFE_INTEGER;
const LAST = Number.MAX_SAFE_INTEGER;

/** The next whole number that a column can be compared with. */
function whole(number: number): number {
  return Math.ceil(Math.min(Math.max(number, FIRST), Number.MAX_SAFE_INTEGER));
}

function pageOf(from: string): string {
  return `SELECT message.sequence, message.received FROM ${from}
    ORDER BY message.received DESC, message.sequence DESC LIMIT $2::bigint`;
}

/** Those that can be had again are in "work" alone. */
function deadPage({ work, message }: Tables): string {
  return `
    (${pageOf(`${message} AS message WHERE ${PERIOD}
      AND message.state IN ('dead', 'conflict', 'stale') AND message.again IS DISTINCT FROM 'dismissed'`)})
    UNION ALL
    (${pageOf(`${message} AS message JOIN ${work} AS work USING (sequence)
      WHERE ${PERIOD} AND work.state = 'dead'`)})`;
}

function listSql(tables: Tables, page: string, maxBytes: number): string {
  const { work, message, body } = tables;
  return `
WITH page AS MATERIALIZED (${page}),
measured AS (
  SELECT page.sequence, coalesce(sum(octet_length(body.bytes)) OVER (ORDER BY page.received DESC, page.sequence DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) <= ${maxBytes} AS has_room
  FROM page LEFT JOIN ${body} AS body USING (sequence)
)
SELECT measured.has_room, ${MESSAGE_WITH_BODY}, ${courseColumns(tables, '$3::boolean')}
FROM measured JOIN ${message} AS message USING (sequence) LEFT JOIN ${work} AS work USING (sequence)
  ${courseOf(tables)}
  LEFT JOIN ${body} AS body ON body.sequence = message.sequence AND measured.has_room
ORDER BY message.received DESC, message.sequence DESC`;
}

/** Before the first message that was received at a time. */
const BEFORE_FIRST = -1;

type PageKind = `${ListQuery['state']}${'' | '_bare'}`;

/** The messages of a period, oldest first. */
export class Paging {
  readonly #page: Readonly<Record<PageKind, Plan>>;

  constructor(tables: Tables) {
    const statement = (state: ListQuery['state'], kind: PageKind): [PageKind, Plan] => [
      kind,
      { name: `rvm_page_${kind}`, text: pageSql(tables, STATES[state], kind === state) },
    ];
    const states = Object.keys(STATES) as ListQuery['state'][];
    this.#page = Object.fromEntries(
      states.flatMap((state) => [statement(state, state), statement(state, `${state}_bare`)]),
    ) as Record<PageKind, Plan>;
  }

  page({ id, take }: Request<'page'>): Step {
    const { state, since, until, after, limit, bodies, steps } = take;
    const { received, sequence } = after ?? { received: whole(since), sequence: BEFORE_FIRST };
    return {
      statement: this.#page[bodies ? state : (`${state}_bare` as const)],
      values: [received, sequence, whole(until), limit, steps],
      read: (rows) => [{ id, give: rows.map(pagedMessage) }],
    };
  }
}

/** As `listing` has them. */
const STATES: Readonly<Record<ListQuery['state'], string>> = {
  open: `work.state IN ('received', 'leased')`,
  settled: `message.state = 'delivered' AND work.sequence IS NULL`,
  dead: `coalesce(work.state, message.state) IN ('dead', 'conflict', 'stale') AND message.again IS DISTINCT FROM 'dismissed'`,
  filtered: `message.state = 'filtered'`,
  all: 'TRUE',
};

function pagedMessage(row: Row): PagedMessage {
  const { alarm_key: alarm } = row;
  return { ...listedMessage(row), ...(typeof alarm === 'string' && { alarm }) };
}

function pageSql(tables: Tables, condition: string, withBodies: boolean): string {
  const { work, message, body } = tables;
  return `
WITH page AS MATERIALIZED (
  SELECT message.sequence, message.received FROM ${message} AS message LEFT JOIN ${work} AS work USING (sequence)
  WHERE (message.received, message.sequence) > ($1::bigint, $2::bigint) AND message.received < $3::bigint AND ${condition}
  ORDER BY message.received, message.sequence LIMIT $4::bigint
)${withBodies ? `, ${measuredSql(tables)}` : ''}
SELECT ${withBodies ? `measured.has_room, ${MESSAGE_WITH_BODY}` : STORED_COLUMNS}, message.alarm_key, ${courseColumns(tables, '$5::boolean')}
FROM ${withBodies ? 'measured' : 'page'} JOIN ${message} AS message USING (sequence) LEFT JOIN ${work} AS work USING (sequence)
  ${courseOf(tables)}
  ${withBodies ? `LEFT JOIN ${body} AS body ON body.sequence = message.sequence AND measured.has_room` : ''}
ORDER BY message.received, message.sequence`;
}

function measuredSql({ body }: Tables): string {
  return `measured AS (
  SELECT page.sequence, coalesce(sum(octet_length(body.bytes)) OVER (ORDER BY page.received, page.sequence
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) <= ${MAX_LISTED} AS has_room
  FROM page LEFT JOIN ${body} AS body USING (sequence)
)`;
}

/** How the inbox stands. All of it only reads, so that a database that waits for its standby can say so. */
export class FigureCalls {
  readonly #oldest: Plan;
  readonly #dead: Plan;
  readonly #standby: Plan;
  readonly #newest: Plan;
  readonly #allDead: Plan;

  constructor(
    tables: Tables,
    private readonly clock: InboxClock,
  ) {
    this.#oldest = { name: 'rvm_oldest', text: oldestSql(tables) };
    this.#dead = { name: 'rvm_dead_by_station', text: deadSql(tables) };
    this.#newest = { name: 'rvm_counts_of_newest', text: newestSql(tables) };
    this.#allDead = { name: 'rvm_counts_of_dead', text: allDeadSql(tables) };
    this.#standby = { name: 'rvm_standby', text: STANDBY };
  }

  all({ id, take }: Request<'figures'>): Step[] {
    const figures: InboxFigures = { oldest: {}, dead: {} };
    return [
      {
        statement: this.#oldest,
        values: [take.map(storable)],
        read: (rows) => {
          for (const row of rows) this.clock.heard(Number(row['clock'] ?? 0));
          for (const row of rows)
            figures.oldest[storedText(row['endpoint'])] = Math.max(
              0,
              this.clock.now() - Number(row['stored']),
            );
          return [];
        },
      },
      {
        statement: this.#dead,
        values: [],
        read: (rows) => {
          for (const row of rows) figures.dead[storedText(row['station'])] = Number(row['count']);
          return [];
        },
      },
      {
        statement: this.#standby,
        values: [],
        read: ([row]) => {
          figures.standby = row?.['away'] === true ? 'away' : row?.['waited_for'] === true ? 'there' : 'none';
          return [{ id, give: figures }];
        },
      },
    ];
  }

  counts({ id, take }: Request<'counts'>): Step[] {
    const counts: InboxCounts = { newest: [], dead: 0, exhausted: 0 };
    return [
      {
        statement: this.#newest,
        values: [take.newest],
        read: (rows) => {
          counts.newest = rows.map((row) => ({
            station: storedText(row['station']),
            state: storedText(row['state']) as MessageState,
            count: Number(row['count']),
            last: Number(row['last']),
          }));
          return [];
        },
      },
      {
        statement: this.#allDead,
        values: [],
        read: ([row]) => {
          const exhausted = Number(row?.['exhausted']);
          return [{ id, give: { ...counts, dead: Number(row?.['dead']) + exhausted, exhausted } }];
        },
      },
    ];
  }
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

/** As a list of dead letters has them: those that can be had again are in "work" alone. */
function deadSql({ work, message }: Tables): string {
  return `SELECT station, count(*) AS count FROM (
      SELECT station FROM ${message} WHERE state IN ('dead', 'conflict', 'stale') AND again IS DISTINCT FROM 'dismissed'
      UNION ALL SELECT message.station FROM ${work} AS work JOIN ${message} AS message USING (sequence) WHERE work.state = 'dead'
    ) AS dead GROUP BY station`;
}

function newestSql({ work, message }: Tables): string {
  return `SELECT message.station, coalesce(work.state, message.state) AS state, count(*) AS count, max(message.received) AS last FROM (
      SELECT sequence, station, state, received FROM ${message} AS message
      WHERE NOT (message.state = 'other' AND message.id LIKE '${SELF_TEST_ID}%') ORDER BY sequence DESC LIMIT $1::bigint
    ) AS message LEFT JOIN ${work} AS work USING (sequence) GROUP BY 1, 2`;
}

function allDeadSql({ work, message }: Tables): string {
  return `SELECT (SELECT count(*) FROM ${message}
      WHERE state IN ('dead', 'conflict', 'stale') AND again IS DISTINCT FROM 'dismissed') AS dead,
    (SELECT count(*) FROM ${work} WHERE state = 'dead') AS exhausted`;
}

/** The settings of others, for those of a batch are its own; connections of this role whose commits wait for a standby in vain. */
const STANDBY = `SELECT current_setting('synchronous_standby_names') <> ''
    AND (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') <> 'local' AS waited_for,
  EXISTS (SELECT FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND clock_timestamp() - query_start > interval '5 seconds') AS away`;
