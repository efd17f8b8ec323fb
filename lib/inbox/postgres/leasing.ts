import type { MessageState } from '../model';
import { endStep, type NotedStep, stepFacts, type StoredMessage } from '../store/port';
import { MESSAGE_WITH_BODY, messageWithBody, STORED_COLUMNS, storedMessage } from './lists';
import {
  askedId,
  booleans,
  byNumber,
  instanceFactsSql,
  integers,
  notedSql,
  type Plan,
  type Reply,
  type Request,
  type Row,
  type Step,
  storable,
  storableOrNull,
  storedText,
  type Tables,
  texts,
  uuids,
} from './sql';

/** A limit that is a parameter is planned as a tenth of the table, with another plan where that is large: so it stands in the text. */
const LIMITS = [1, 10, 50, 100] as const;
/** Most that are leased at once. */
const MOST = 1000;

/** A lease of so many events at most. */
interface Prepared {
  readonly limit: number;
  readonly ordered: boolean;
  readonly statement: Plan;
}

/** What goes to the flow: each event to the epoch that leases it, and only while that is alive. */
export class LeasePlans {
  readonly #lease: readonly Prepared[];
  readonly #leaseBare: readonly Prepared[];
  readonly #leased: Plan;

  constructor(tables: Tables) {
    this.#lease = preparedOf((limit, ordered) => leaseStatement(tables, limit, ordered));
    this.#leaseBare = preparedOf((limit, ordered) => bareLeaseStatement(tables, limit, ordered));
    this.#leased = {
      name: 'rvm_leased',
      text: `SELECT message.delivery_id FROM ${tables.work} AS work JOIN ${tables.message} AS message USING (sequence)
        WHERE work.holder = $1::uuid AND work.state = 'leased' AND work.endpoint = $2`,
    };
  }

  lease(request: Request<'lease'>, epoch: string): Step {
    return leaseStep(request, epoch, this.#lease, messageWithBody);
  }

  /** The same, without what is in `body`. */
  leaseBare(request: Request<'lease'>, epoch: string): Step {
    return leaseStep(request, epoch, this.#leaseBare, storedMessage);
  }

  /** What this epoch has leased. */
  leased({ id, take }: Request<'leased'>, epoch: string): Step {
    return {
      statement: this.#leased,
      values: [epoch, storable(take)],
      read: (rows) => [{ id, give: rows.map((row) => String(row['delivery_id'])) }],
    };
  }
}

function preparedOf(statement: (limit: number, ordered: boolean) => Plan): Prepared[] {
  return [...LIMITS, MOST].flatMap((limit) =>
    [true, false].map((ordered) => ({ limit, ordered, statement: statement(limit, ordered) })),
  );
}

function leaseStep(
  { id, take }: Request<'lease'>,
  epoch: string,
  prepared: readonly Prepared[],
  messageOf: (row: Row) => StoredMessage,
): Step {
  const { endpoint, limit, health, ordered } = take;
  const wanted = Math.min(limit, MOST);
  const fitting = prepared.find((one) => one.ordered === ordered && one.limit >= wanted);
  if (fitting === undefined) throw new RangeError(`no lease of ${wanted} events is prepared`);
  return {
    statement: fitting.statement,
    values: [storable(endpoint), epoch, Math.max(0, wanted), Math.max(0, health), Date.now()],
    read: (rows) => [{ id, give: rows.map(messageOf) }],
  };
}

const NONE_OPEN_BEFORE = (work: string): string => `AND (waiting.alarm_key IS NULL OR NOT EXISTS (
      SELECT FROM ${work} AS former WHERE former.endpoint = waiting.endpoint AND former.alarm_key = waiting.alarm_key
      AND former.state IN ('received', 'leased') AND (former.sequence < waiting.sequence OR former.state = 'leased')))`;

function leaseStatement(tables: Tables, limit: number, ordered: boolean): Plan {
  return {
    name: `rvm_lease_${limit}${ordered ? '_ordered' : ''}`,
    text: leaseSql(
      tables,
      { limit, ordered },
      `SELECT ${MESSAGE_WITH_BODY}
FROM work JOIN ${tables.message} AS message USING (sequence) LEFT JOIN ${tables.body} AS body USING (sequence)`,
    ),
  };
}

function bareLeaseStatement(tables: Tables, limit: number, ordered: boolean): Plan {
  return {
    name: `rvm_lease_bare_${limit}${ordered ? '_ordered' : ''}`,
    text: leaseSql(
      tables,
      { limit, ordered },
      `SELECT ${STORED_COLUMNS} FROM work JOIN ${tables.message} AS message USING (sequence)`,
    ),
  };
}

/**
 * What another instance is just leasing is left out; those of class health come last. Each is given in the state in which it
 * was.
 * @param give what is selected of `work`, which is what was leased
 */
function leaseSql(
  tables: Tables,
  { limit, ordered }: Pick<Prepared, 'limit' | 'ordered'>,
  give: string,
): string {
  const { work, instance } = tables;
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
), ${notedSql(tables, '(SELECT * FROM work WHERE attempt > 1)', {
    time: '$5',
    step: `'delivered'`,
    attempt: 'noted.attempt',
    facts: instanceFactsSql(tables, '$2::uuid'),
  })}
${give}
ORDER BY message.rank, message.sequence`;
}

/** When events come again. Fenced by the epoch that has leased them, but for a dead letter, which nobody has. */
export class LapsePlans {
  readonly #unsend: Plan;
  readonly #cutOff: Plan;
  readonly #lapse: Plan;
  readonly #again: Plan;
  readonly #revive: Plan;
  readonly #tell: Plan;

  constructor(tables: Tables) {
    this.#unsend = { name: 'rvm_unsend', text: unsendSql(tables) };
    this.#cutOff = { name: 'rvm_cut_off', text: cutOffSql(tables) };
    this.#lapse = { name: 'rvm_lapse', text: lapseSql(tables) };
    this.#again = { name: 'rvm_again', text: againSql(tables) };
    this.#revive = { name: 'rvm_revive', text: reviveSql(tables) };
    this.#tell = { name: 'rvm_tell', text: tellSql(tables) };
  }

  giveBack({ id, take }: Request<'giveBack'>, epoch: string): Step[] {
    let count = 0;
    const counted = (rows: readonly Row[]): number => (count += Number(rows[0]?.['count'] ?? 0));
    return [
      {
        statement: this.#unsend,
        values: [uuids(take.unsent.map(askedId)), epoch],
        read: (rows) => (counted(rows), []),
      },
      {
        statement: this.#cutOff,
        values: [uuids(take.cutOff.map(askedId)), epoch, Date.now()],
        read: (rows) => [{ id, give: counted(rows) }],
      },
    ];
  }

  lapse({ id, take: { deliveryId, again, maxAttempts, by } }: Request<'lapse'>, epoch: string): Step {
    return {
      statement: this.#lapse,
      values: [
        askedId(deliveryId),
        epoch,
        again,
        Math.min(maxAttempts, Number.MAX_SAFE_INTEGER),
        Date.now(),
        storableOrNull(by),
      ],
      read: ([row]) => [{ id, give: row && { dead: row['dead'] === true, counted: Number(row['counted']) } }],
    };
  }

  again({ id, take }: Request<'again'>, epoch: string): Step {
    return {
      statement: this.#again,
      values: [askedId(take), epoch, Date.now()],
      read: ([row]) => [{ id, give: row && Number(row['attempt']) }],
    };
  }

  revive({ id, take }: Request<'revive'>): Step {
    return {
      statement: this.#revive,
      values: [askedId(take.deliveryId), Date.now(), storableOrNull(take.by)],
      read: ([row]) => [{ id, give: row && storedText(row['endpoint']) }],
    };
  }

  tellHolder({ id, take: { deliveryId, wish } }: Request<'tellHolder'>, epoch: string): Step {
    return {
      statement: this.#tell,
      values: [askedId(deliveryId), epoch, wish],
      read: (rows) => [{ id, give: rows.length > 0 }],
    };
  }
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

function unsendSql(tables: Tables): string {
  const forgotten = `forgotten AS (
  DELETE FROM ${tables.history} AS known USING back
  WHERE known.sequence = back.sequence AND known.step = 'delivered' AND known.attempt > back.attempt
)`;
  return backSql(tables, `${WAITS}, ${UNSEND}`, { condition: 'AND work.at_flow', besides: forgotten });
}

function cutOffSql(tables: Tables): string {
  return backSql(tables, WAITS_AGAIN, { besides: cutOffNotedSql(tables, 'back', '$3') });
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

function lapseSql(tables: Tables): string {
  const { work, message } = tables;
  const steps = `(SELECT sequence, CASE WHEN $3 = 'retry' THEN 'retry' ELSE 'lapsed' END AS step, $6::text AS actor, NULL AS facts
      FROM lapsed
    UNION ALL SELECT sequence, 'dead', NULL, '{"reason":"attempts"}' FROM lapsed WHERE dead)`;
  return `
WITH lapsed AS (
  UPDATE ${work} AS work SET at_flow = false,
    state = CASE WHEN work.attempt - work.cut_off >= $4::bigint THEN 'dead' ELSE 'leased' END,
    again = CASE WHEN work.attempt - work.cut_off >= $4::bigint THEN 'attempts' ELSE $3 END,
    holder = CASE WHEN work.attempt - work.cut_off >= $4::bigint THEN NULL ELSE work.holder END
  FROM ${message} AS message
  WHERE message.delivery_id = $1::uuid AND work.sequence = message.sequence AND work.state = 'leased' AND work.holder = $2::uuid
  RETURNING work.sequence, work.state = 'dead' AS dead, work.attempt - work.cut_off AS counted
), ${notedSql(tables, steps, {
    time: '$5',
    step: 'noted.step',
    actor: 'noted.actor',
    facts: 'noted.facts',
    order: `noted.step = 'dead'`,
  })}
SELECT dead, counted FROM lapsed`;
}

function againSql(tables: Tables): string {
  const { work, message } = tables;
  return `
WITH again AS (
  UPDATE ${work} AS work SET at_flow = true, attempt = work.attempt + 1
  FROM ${message} AS message
  WHERE message.delivery_id = $1::uuid AND work.sequence = message.sequence AND work.state = 'leased' AND work.holder = $2::uuid
  RETURNING work.sequence, work.attempt
), ${notedSql(tables, 'again', {
    time: '$3',
    step: `'delivered'`,
    attempt: 'noted.attempt',
    facts: instanceFactsSql(tables, '$2::uuid'),
  })}
SELECT attempt FROM again`;
}

/** A dead letter with all its attempts; or what is filtered, which is kept from now on as any event that is open. */
function reviveSql(tables: Tables): string {
  const { work, message, stir } = tables;
  return `
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
SELECT endpoint, ${stir('endpoint')} AS noted FROM waiting`;
}

function tellSql({ work, message, instance, wish, callHolder }: Tables): string {
  return `
WITH told AS (
  INSERT INTO ${wish} (holder, delivery_id, wish)
  SELECT work.holder, message.delivery_id, $3 FROM ${message} AS message JOIN ${work} AS work USING (sequence)
  WHERE message.delivery_id = $1::uuid AND work.state = 'leased' AND work.holder <> $2::uuid
    AND EXISTS (SELECT FROM ${instance} WHERE epoch = work.holder)
  RETURNING holder
)
SELECT ${callHolder('holder')} AS noted FROM told`;
}

type Finish = Request<'finish'>;
/** Of one event. */
interface Ending {
  readonly deliveryId: string;
  readonly state: 'delivered' | 'dead';
  /** Also of a dead letter for want of attempts. */
  readonly burying: boolean;
  readonly step: NotedStep;
}

/** What becomes of events. That one is settled is a fact: it counts whoever has leased it; who has, and is another, is told. */
export class FinishPlans {
  readonly #finish: Plan;
  readonly #find: Plan;
  readonly #dismiss: Plan;
  readonly #stateOf: Plan;

  constructor(tables: Tables) {
    this.#finish = { name: 'rvm_finish', text: finishSql(tables) };
    this.#find = { name: 'rvm_find', text: findSql(tables) };
    this.#dismiss = { name: 'rvm_dismiss', text: dismissSql(tables) };
    this.#stateOf = { name: 'rvm_state_of', text: stateSql(tables) };
  }

  /** No event twice among them. */
  finish(requests: readonly Finish[], epoch: string): Step[] {
    if (requests.length === 0) return [];
    const messages = new Map<string, unknown>();
    const ending = this.#end(
      requests.map(({ take: { deliveryId, state, step = endStep(state) } }) => ({
        deliveryId,
        state,
        step,
        burying: true,
      })),
      epoch,
      (rows) => finishReplies(requests, rows, messages),
    );
    const given = requests.filter(({ take }) => take.give).map(({ take }) => take.deliveryId);
    return given.length === 0 ? [ending] : [this.#findStep(given, messages), ending];
  }

  markDelivered(requests: readonly Request<'markDelivered'>[], epoch: string): Step[] {
    if (requests.length === 0) return [];
    const ids = new Set(requests.flatMap(({ take }) => take));
    const step = endStep('delivered');
    const endings = [...ids].map(
      (deliveryId) => ({ deliveryId, state: 'delivered', burying: false, step }) as const,
    );
    return [this.#end(endings, epoch, () => requests.map(({ id }) => ({ id })))];
  }

  dismiss({ id, take }: Request<'dismiss'>): Step {
    return {
      statement: this.#dismiss,
      values: [askedId(take.deliveryId), Date.now(), storableOrNull(take.by)],
      read: (rows) => [{ id, give: rows.length > 0 }],
    };
  }

  stateOf({ id, take }: Request<'stateOf'>): Step {
    return {
      statement: this.#stateOf,
      values: [askedId(take)],
      read: ([row]) => [{ id, give: row?.['state'] }],
    };
  }

  #end(endings: readonly Ending[], epoch: string, read: (rows: readonly Row[]) => Reply[]): Step {
    return {
      statement: this.#finish,
      values: [
        uuids(endings.map(({ deliveryId }) => askedId(deliveryId))),
        texts(endings.map(({ state }) => state)),
        booleans(endings.map(({ burying }) => burying)),
        epoch,
        integers(endings.map(({ step }) => Math.round(step.time))),
        texts(endings.map(({ step }) => step.step)),
        texts(endings.map(({ step }) => storableOrNull(step.by))),
        texts(endings.map(({ step }) => stepFacts(step))),
      ],
      read,
    };
  }

  /** As they are before they end. */
  #findStep(deliveryIds: readonly string[], messages: Map<string, unknown>): Step {
    return {
      statement: this.#find,
      values: [uuids(deliveryIds.map(askedId))],
      read: (rows) => {
        for (const row of rows) messages.set(String(row['delivery_id']), messageWithBody(row));
        return [];
      },
    };
  }
}

function finishReplies(
  requests: readonly Finish[],
  rows: readonly Row[],
  messages: ReadonlyMap<string, unknown>,
): Reply[] {
  const found = byNumber(rows);
  return requests.map(({ id, take }, index) => {
    const row = found.get(index + 1);
    if (row === undefined) return { id };
    const message = take.give ? { message: messages.get(take.deliveryId) } : {};
    const was = row['was'] as MessageState;
    return { id, give: { was, endpoint: storedText(row['endpoint']), ...message } };
  });
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
    time: 'noted.time',
    step: 'noted.step',
    actor: 'noted.actor',
    facts: 'noted.facts',
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

function findSql({ message, work, body }: Tables): string {
  return `SELECT ${MESSAGE_WITH_BODY} FROM ${message} AS message
    LEFT JOIN ${work} AS work USING (sequence) LEFT JOIN ${body} AS body USING (sequence)
    WHERE message.delivery_id = ANY ($1::uuid[])`;
}

/** A dead letter that could be had again cannot any more. */
function dismissSql(tables: Tables): string {
  const { message, work, course } = tables;
  return `
WITH asked AS (
  SELECT message.sequence, work.attempt FROM ${message} AS message LEFT JOIN ${work} AS work USING (sequence)
  WHERE message.delivery_id = $1::uuid AND coalesce(work.state, message.state) IN ('dead', 'conflict', 'stale')
), ended AS (
  DELETE FROM ${work} AS work USING asked WHERE work.sequence = asked.sequence AND work.state = 'dead'
  RETURNING work.sequence, work.delivered
), run AS (
  INSERT INTO ${course} (sequence, delivered) SELECT sequence, delivered FROM ended
), ${notedSql(tables, 'asked', { time: '$2', step: `'discarded'`, actor: '$3' })}
UPDATE ${message} AS message SET again = 'dismissed', attempt = coalesce(asked.attempt, message.attempt),
  state = CASE WHEN asked.attempt IS NULL THEN message.state ELSE 'dead' END
FROM asked WHERE message.sequence = asked.sequence RETURNING 1`;
}

function stateSql({ message, work }: Tables): string {
  return `SELECT coalesce(work.state, message.state) AS state FROM ${message} AS message LEFT JOIN ${work} AS work USING (sequence)
    WHERE message.delivery_id = $1::uuid`;
}
