import type { MessageState } from '../model';
import { endStep, MOST_STEPS, type NotedStep, stepFacts } from '../store/port';
import type { Acceptances } from './accept-plan';
import type { CallPlans, Step } from './call-plans';
import { MESSAGE_WITH_BODY, messageIn, STORED_COLUMNS } from './list-plans';
import type { Question } from './session';
import { askedId, booleans, byNumber, integers, type Tables, texts, uuids } from './tables';

/** A limit that is a parameter is planned as a tenth of the table, with another plan where that is large: so it stands in the text. */
const LIMITS = [1, 10, 50, 100];
/** Most that are leased at once. */
const MOST = 1000;
/** An event has had all its attempts, of which there are $4. */
const SPENT = `work.attempt - work.cut_off >= $4::bigint`;

interface Ending {
  readonly deliveryId: string;
  readonly state: 'delivered' | 'dead';
  /** Also of a dead letter for want of attempts. */
  readonly burying: boolean;
  readonly step: NotedStep;
}

/**
 * The life of an event: it is leased, comes again, ends. Each is leased to one epoch, and only while that is alive; that it comes
 * again is fenced by that epoch, but for a dead letter, which nobody has. That it is settled is a fact: it counts whoever has
 * leased it; who has, and is another, is told.
 */
export function eventPlans(tables: Tables, acceptances: Acceptances) {
  const { work, message, event, instance, wish, body, course, history, stir, callHolder } = tables;
  const finish = finishSql(tables);
  const find = `SELECT ${MESSAGE_WITH_BODY} FROM ${event} LEFT JOIN ${body} AS body USING (sequence)
    WHERE message.delivery_id = ANY ($1::uuid[])`;
  /** No event twice among them. */
  const ended = (endings: readonly Ending[], epoch: string): Question => [
    finish,
    [
      uuids(endings.map(({ deliveryId }) => askedId(deliveryId))),
      texts(endings.map(({ state }) => state)),
      booleans(endings.map(({ burying }) => burying)),
      epoch,
      integers(endings.map(({ step }) => Math.round(step.time))),
      texts(endings.map(({ step }) => step.step)),
      texts(endings.map(({ step }) => step.by)),
      texts(endings.map(({ step }) => stepFacts(step))),
    ],
  ];
  /** The row of `work` of the event $1, while the epoch $2 has leased it. */
  const held = `message.delivery_id = $1::uuid AND work.sequence = message.sequence
    AND work.state = 'leased' AND work.holder = $2::uuid`;
  return {
    finish: {
      phase: 'events',
      isRepeatable: true,
      givesBodies: ({ give }) => give,
      steps: (requests, epoch, isBare) => {
        const given = requests.flatMap(({ take }) =>
          take.give && !isBare ? [askedId(take.deliveryId)] : [],
        );
        const endings = requests.map(({ take: { deliveryId, state, step = endStep(state) } }) => ({
          deliveryId,
          state,
          burying: true,
          step,
        }));
        const finding = given.length > 0;
        // Found as they are before they end.
        const before: Question[] = finding ? [[find, [uuids(given)]]] : [];
        const read: Step['read'] = ([first, second]) => {
          const found = new Map(finding ? first.map((row) => [row['delivery_id'], messageIn(row)]) : []);
          const rows = byNumber(finding ? second : first);
          return requests.map(({ id, take }, index) => {
            const row = rows.get(index + 1);
            if (row === undefined) return { id };
            const message = finding && take.give && { message: found.get(take.deliveryId) };
            return { id, give: { was: row['was'], endpoint: String(row['endpoint']), ...message } };
          });
        };
        return [{ statements: [...before, ended(endings, epoch)], read }];
      },
    },
    markDelivered: {
      phase: 'events',
      isRepeatable: true,
      steps: (requests, epoch) => {
        const ids = new Set(requests.flatMap(({ take }) => take));
        const ending = { state: 'delivered', burying: false, step: endStep('delivered') } as const;
        const endings = [...ids].map((deliveryId) => ({ deliveryId, ...ending }));
        const read = () => requests.map(({ id }) => ({ id }));
        return [{ statements: [ended(endings, epoch)], read }];
      },
    },
    giveBack: {
      phase: 'events',
      isOfLease: true,
      sql: [
        backSql(tables, `${WAITS}, ${UNSEND}`, {
          condition: 'AND work.at_flow',
          besides: `forgotten AS (
  DELETE FROM ${history} AS known USING back
  WHERE known.sequence = back.sequence AND known.step = 'delivered' AND known.attempt > back.attempt
)`,
        }),
        backSql(tables, WAITS_AGAIN, { besides: cutOffNotedSql(tables, 'back', '$3') }),
      ],
      args: ({ unsent, cutOff }, epoch) => {
        const never = acceptances.neverTold(cutOff, epoch);
        const had = cutOff.filter((id) => !never.has(id));
        return [
          [uuids([...unsent, ...never].map(askedId)), epoch],
          [uuids(had.map(askedId)), epoch, Date.now()],
        ];
      },
      read: (answers) => answers.reduce((count, [row]) => count + Number(row?.['count'] ?? 0), 0),
    },
    lapse: {
      phase: 'events',
      isOfLease: true,
      withoutLease: () => undefined,
      sql: `
WITH lapsed AS (
  UPDATE ${work} AS work SET at_flow = false,
    state = CASE WHEN ${SPENT} THEN 'dead' ELSE 'leased' END,
    again = CASE WHEN ${SPENT} THEN 'attempts' ELSE $3 END,
    holder = CASE WHEN ${SPENT} THEN NULL ELSE work.holder END
  FROM ${message} AS message WHERE ${held}
  RETURNING work.sequence, work.state = 'dead' AS dead, work.attempt - work.cut_off AS counted
), ${notedSql(
        tables,
        `(SELECT sequence, CASE WHEN $3 = 'retry' THEN 'retry' ELSE 'lapsed' END AS step, $6::text AS actor, NULL AS facts
      FROM lapsed
    UNION ALL SELECT sequence, 'dead', NULL, '{"reason":"attempts"}' FROM lapsed WHERE dead)`,
        {
          ...AS_THEY_SAY,
          time: '$5',
          order: `noted.step = 'dead'`,
        },
      )}
SELECT dead, counted FROM lapsed`,
      args: ({ deliveryId, again, maxAttempts, by }, epoch) => [
        askedId(deliveryId),
        epoch,
        again,
        Math.min(maxAttempts, Number.MAX_SAFE_INTEGER),
        Date.now(),
        by,
      ],
      read: ([[row]]) => row && { dead: row['dead'] === true, counted: Number(row['counted']) },
    },
    again: {
      phase: 'events',
      isOfLease: true,
      withoutLease: () => undefined,
      sql: `
WITH again AS (
  UPDATE ${work} AS work SET at_flow = true, attempt = work.attempt + 1
  FROM ${message} AS message WHERE ${held}
  RETURNING work.sequence, work.attempt
), ${deliveredAgainSql(tables, 'again', '$3')}
SELECT attempt FROM again`,
      args: (deliveryId, epoch) => [askedId(deliveryId), epoch, Date.now()],
      read: ([[row]]) => row && Number(row['attempt']),
    },
    /** A dead letter with all its attempts; or what is filtered, which is kept from now on as any event that is open. */
    revive: {
      phase: 'events',
      sql: `
WITH revived AS (
  UPDATE ${work} AS work SET state = 'received', cut_off = work.attempt, again = 'retry'
  FROM ${message} AS message
  WHERE message.delivery_id = $1::uuid AND work.sequence = message.sequence AND work.state = 'dead'
  RETURNING work.sequence, work.endpoint
), taken AS (
  UPDATE ${message} AS message SET state = 'delivered', attempt = 1
  WHERE message.delivery_id = $1::uuid AND message.state = 'filtered'
  RETURNING message.sequence, message.endpoint, message.rank
), opened AS (
  INSERT INTO ${work} (sequence, endpoint, rank, state, attempt, at_flow, again)
  SELECT sequence, endpoint, rank, 'received', 0, false, 'retry' FROM taken RETURNING sequence, endpoint
), waiting AS (
  SELECT sequence, endpoint FROM revived UNION ALL SELECT sequence, endpoint FROM opened
), ${notedSql(tables, 'waiting', { time: '$2', step: `'delivered-again'`, actor: '$3' })}
SELECT endpoint, ${stir('endpoint')} AS noted FROM waiting`,
      args: ({ deliveryId, by }) => [askedId(deliveryId), Date.now(), by],
      read: ([[row]]) => row && String(row['endpoint']),
    },
    /** A dead letter that could be had again cannot any more. */
    dismiss: {
      phase: 'events',
      isRepeatable: true,
      sql: `
WITH asked AS (
  SELECT message.sequence, work.attempt FROM ${event}
  WHERE message.delivery_id = $1::uuid AND coalesce(work.state, message.state) IN ('dead', 'conflict', 'stale')
), ended AS (
  DELETE FROM ${work} AS work USING asked WHERE work.sequence = asked.sequence AND work.state = 'dead'
  RETURNING work.sequence, work.delivered
), run AS (
  INSERT INTO ${course} (sequence, delivered) SELECT sequence, delivered FROM ended
), ${notedSql(tables, 'asked', { time: '$2', step: `'discarded'`, actor: '$3' })}
UPDATE ${message} AS message SET again = 'dismissed', attempt = coalesce(asked.attempt, message.attempt),
  state = CASE WHEN asked.attempt IS NULL THEN message.state ELSE 'dead' END
FROM asked WHERE message.sequence = asked.sequence RETURNING 1`,
      args: ({ deliveryId, by }) => [askedId(deliveryId), Date.now(), by],
      read: ([rows]) => rows.length > 0,
    },
    note: {
      phase: 'events',
      isRepeatable: true,
      sql: `
WITH asked AS MATERIALIZED (
  SELECT message.sequence, coalesce(work.state, message.state) AS state FROM ${event} WHERE message.delivery_id = $1::uuid
), fresh AS MATERIALIZED (
  SELECT sequence FROM asked WHERE (NOT $7::boolean OR state IN ('received', 'leased')) AND NOT EXISTS (
    SELECT FROM ${history} AS known WHERE known.sequence = asked.sequence AND known.time = $2::bigint AND known.step = $3::text
      AND known.facts IS NOT DISTINCT FROM $5::text)
), ${notedSql(tables, 'fresh', { time: '$2', step: '$3', actor: '$4', facts: '$5' })}, judged AS (
  UPDATE ${message} AS message SET verdict = $6::text, judged = $2::bigint
  FROM fresh WHERE message.sequence = fresh.sequence AND $6::text IS NOT NULL
)
SELECT state FROM asked`,
      args: ({ deliveryId, step, ifOpen = false }) => [
        askedId(deliveryId),
        Math.round(step.time),
        step.step,
        step.by,
        stepFacts(step),
        step.verdict ?? null,
        ifOpen,
      ],
      read: ([[row]]) => row?.['state'] as MessageState | undefined,
    },
    tellHolder: {
      phase: 'events',
      sql: `
WITH told AS (
  INSERT INTO ${wish} (holder, delivery_id, wish)
  SELECT work.holder, message.delivery_id, $3 FROM ${message} AS message JOIN ${work} AS work USING (sequence)
  WHERE message.delivery_id = $1::uuid AND work.state = 'leased' AND work.holder <> $2::uuid
    AND EXISTS (SELECT FROM ${instance} WHERE epoch = work.holder)
  RETURNING holder
)
SELECT ${callHolder('holder')} AS noted FROM told`,
      args: ({ deliveryId, wish }, epoch) => [askedId(deliveryId), epoch, wish],
      read: ([rows]) => rows.length > 0,
    },
    lease: {
      phase: 'lease',
      givesBodies: () => true,
      withoutLease: () => [],
      sql: ({ limit, ordered }, isBare) =>
        leaseSql(tables, LIMITS.find((most) => most >= limit) ?? MOST, ordered, isBare),
      args: ({ endpoint, limit, health }, epoch) => [
        endpoint,
        epoch,
        Math.max(0, Math.min(limit, MOST)),
        Math.max(0, health),
        Date.now(),
      ],
      read: ([rows]) => rows.map(messageIn),
    },
    /** What this epoch has leased; what it leases in the same batch is among it. */
    leased: {
      phase: 'lease',
      withoutLease: () => [],
      sql: `SELECT message.delivery_id FROM ${work} AS work JOIN ${message} AS message USING (sequence)
        WHERE work.holder = $1::uuid AND work.state = 'leased' AND work.endpoint = $2`,
      args: (endpoint, epoch) => [epoch, endpoint],
      read: ([rows]) => rows.map((row) => String(row['delivery_id'])),
    },
    stateOf: {
      sql: `SELECT coalesce(work.state, message.state) AS state FROM ${event} WHERE message.delivery_id = $1::uuid`,
      args: (deliveryId) => [askedId(deliveryId)],
      read: ([[row]]) => row?.['state'] as MessageState | undefined,
    },
  } satisfies Partial<CallPlans>;
}

const NONE_OPEN_BEFORE = (work: string): string => `AND (waiting.alarm_key IS NULL OR NOT EXISTS (
      SELECT FROM ${work} AS former WHERE former.endpoint = waiting.endpoint AND former.alarm_key = waiting.alarm_key
      AND former.state IN ('received', 'leased') AND (former.sequence < waiting.sequence OR former.state = 'leased')))`;

/**
 * What another instance is just leasing is left out; those of class health come last. Each is given in the state in which it
 * was.
 */
function leaseSql(tables: Tables, limit: number, ordered: boolean, isBare: boolean): string {
  const { work, instance, message, body } = tables;
  return `
WITH next AS MATERIALIZED (
  SELECT waiting.sequence, waiting.rank FROM ${work} AS waiting
  WHERE waiting.endpoint = $1 AND waiting.state = 'received' AND EXISTS (SELECT FROM ${instance} WHERE epoch = $2::uuid)
    ${ordered ? NONE_OPEN_BEFORE(work) : ''}
  ORDER BY waiting.rank, waiting.sequence LIMIT ${limit} FOR UPDATE OF waiting SKIP LOCKED
), chosen AS (
  SELECT sequence FROM (SELECT sequence, rank, row_number() OVER (ORDER BY rank, sequence) AS place,
    row_number() OVER (PARTITION BY rank ORDER BY sequence) AS place_of_rank FROM next) AS placed
  WHERE place <= $3::bigint AND (rank = 0 OR place_of_rank <= $4::bigint)
), work AS (
  UPDATE ${work} AS waiting SET state = 'leased', holder = $2::uuid, at_flow = true, attempt = waiting.attempt + 1,
    delivered = coalesce(waiting.delivered, $5::bigint)
  FROM chosen WHERE waiting.sequence = chosen.sequence
  RETURNING waiting.sequence, 'received'::text AS state, waiting.attempt, waiting.again
), ${deliveredAgainSql(tables, '(SELECT * FROM work WHERE attempt > 1)', '$5')}
SELECT ${isBare ? STORED_COLUMNS : MESSAGE_WITH_BODY} FROM work JOIN ${message} AS message USING (sequence)
${isBare ? '' : `LEFT JOIN ${body} AS body USING (sequence)`}
ORDER BY message.rank, message.sequence`;
}

/** A delivery after the first, by the epoch `$2`. */
function deliveredAgainSql(tables: Tables, from: string, time: string): string {
  return notedSql(tables, from, {
    time,
    step: `'delivered'`,
    attempt: 'noted.attempt',
    facts: `(SELECT json_build_object('instance', sharing.name)::text FROM ${tables.instance} AS sharing WHERE sharing.epoch = $2::uuid)`,
  });
}

const UNSEND =
  'attempt = work.attempt - 1, delivered = CASE work.attempt WHEN 1 THEN NULL ELSE work.delivered END';
/** What the flow had may have been acted on: its next delivery is a further attempt, which does not count. */
const CUT_OFF = `cut_off = work.cut_off + work.at_flow::integer, again = CASE WHEN work.at_flow THEN 'restart' ELSE work.again END`;
const WAITS = `state = 'received', holder = NULL, at_flow = false`;

/** What becomes, in `work`, of an event whose holder has it no more. */
export const WAITS_AGAIN = `${WAITS}, ${CUT_OFF}`;

/**
 * Of those that wait again, whether the flow had them: as `WAITS_AGAIN` leaves them.
 * @param back rows of `work` after that
 */
export function cutOffNotedSql(tables: Tables, back: string, time: string): string {
  const had = `(SELECT sequence, attempt FROM ${back} WHERE again = 'restart')`;
  return notedSql(tables, had, { time, step: `'cut-off'`, attempt: 'noted.attempt' });
}

/** @param besides further parts of the `WITH`, of the rows of `back` */
function backSql(
  { work, message, stir }: Tables,
  change: string,
  { condition = '', besides }: { condition?: string; besides: string },
): string {
  return `
WITH back AS (
  UPDATE ${work} AS work SET ${change}
  WHERE work.sequence = ANY (ARRAY(SELECT message.sequence FROM ${message} AS message WHERE message.delivery_id = ANY ($1::uuid[])))
    AND work.state = 'leased' AND work.holder = $2::uuid ${condition}
  RETURNING work.endpoint, work.sequence, work.attempt, work.again
), ${besides}
SELECT (SELECT count(*) FROM back) AS count,
  (SELECT count(${stir('endpoint')}) FROM (SELECT DISTINCT endpoint FROM back) AS stirred) AS noted`;
}

/**
 * A dead letter for want of attempts has no reason any more once it is settled. What finds all of it settled writes nothing,
 * and what another connection has written may be on one disk only yet: a record in the log makes the commit wait for that, as
 * in `acceptSql`.
 */
function finishSql(tables: Tables): string {
  const { message, work, course, wish, instance, callHolder } = tables;
  return `
WITH asked AS MATERIALIZED (
  SELECT asked.n, asked.state AS ending, asked.burying, asked.time, asked.step, asked.actor, asked.facts, known.*
  FROM unnest($1::uuid[], $2::text[], $3::boolean[], $5::bigint[], $6::text[], $7::text[], $8::text[]) WITH ORDINALITY
    AS asked (delivery_id, state, burying, time, step, actor, facts, n)
  CROSS JOIN LATERAL (SELECT sequence, delivery_id, endpoint, state FROM ${message} AS message
    WHERE message.delivery_id = asked.delivery_id LIMIT 1) AS known
), ended AS (
  DELETE FROM ${work} AS work
  WHERE sequence = ANY (ARRAY(SELECT sequence FROM asked WHERE burying))
    OR (sequence = ANY (ARRAY(SELECT sequence FROM asked WHERE NOT burying)) AND state <> 'dead')
  RETURNING sequence, state AS was, attempt, again, holder, delivered
), run AS (
  INSERT INTO ${course} (sequence, delivered, instance, settled, actor)
  SELECT ended.sequence, ended.delivered, (SELECT sharing.name FROM ${instance} AS sharing WHERE sharing.epoch = ended.holder),
    CASE ending WHEN 'delivered' THEN asked.time END, CASE ending WHEN 'delivered' THEN asked.actor END
  FROM ended JOIN asked USING (sequence)
), ${notedSql(tables, `(SELECT asked.* FROM ended JOIN asked USING (sequence) WHERE ending <> 'delivered')`, {
    ...AS_THEY_SAY,
    time: 'noted.time',
  })}, unusual AS MATERIALIZED (
  SELECT ended.*, ending, delivery_id FROM ended JOIN asked USING (sequence)
  WHERE ending <> 'delivered' OR attempt <> 1 OR again IS NOT NULL OR (was = 'leased' AND holder <> $4::uuid)
), noted AS (
  UPDATE ${message} AS message SET state = unusual.ending, attempt = unusual.attempt,
    again = CASE WHEN unusual.was <> 'dead' THEN unusual.again END
  FROM unusual WHERE message.sequence = unusual.sequence AND message.sequence = ANY (ARRAY(SELECT sequence FROM unusual))
), told AS (
  INSERT INTO ${wish} (holder, delivery_id, wish)
  SELECT holder, delivery_id, 'settled' FROM unusual
  WHERE was = 'leased' AND holder <> $4::uuid AND EXISTS (SELECT FROM ${instance} WHERE epoch = holder)
  RETURNING holder
)
SELECT asked.n, asked.endpoint, coalesce(ended.was, asked.state) AS was,
  (SELECT count(${callHolder('holder')}) FROM (SELECT DISTINCT holder FROM told) AS holders) AS noted,
  (SELECT count(pg_logical_emit_message(true, 'rvm', '')) WHERE NOT EXISTS (SELECT FROM ended)) AS repeated
FROM asked LEFT JOIN ended USING (sequence)`;
}

/** What is noted of a step, as expressions of a row of `noted`. */
interface StepSql {
  time: string;
  step: string;
  attempt?: string;
  actor?: string;
  facts?: string;
  /** Of several steps of one message. */
  order?: string;
}

/** Of rows that say so. */
const AS_THEY_SAY = { step: 'noted.step', actor: 'noted.actor', facts: 'noted.facts' };

/**
 * Two further parts of a `WITH`: a step of each row is noted, and the oldest go where there are many.
 * @param from rows that have a `sequence`: a name, or a query in brackets
 */
export function notedSql(
  { history }: Tables,
  from: string,
  { time, step, attempt = 'NULL', actor = 'NULL', facts = 'NULL', order = 'noted.sequence' }: StepSql,
): string {
  return `noted_step AS (
  INSERT INTO ${history} (sequence, place, time, step, attempt, actor, facts)
  SELECT noted.sequence,
    (SELECT coalesce(max(known.place), 0) FROM ${history} AS known WHERE known.sequence = noted.sequence)
      + row_number() OVER (PARTITION BY noted.sequence ORDER BY ${order}),
    ${time}::bigint, ${step}::text, ${attempt}::integer, ${actor}::text, ${facts}::text
  FROM ${from} AS noted
  RETURNING sequence, place
), trimmed_steps AS (
  DELETE FROM ${history} AS former USING noted_step
  WHERE former.sequence = noted_step.sequence AND former.place <= noted_step.place - ${MOST_STEPS}
)`;
}
