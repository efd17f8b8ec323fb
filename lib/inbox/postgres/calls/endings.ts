import type { MessageState } from '../../inbox';
import { endStep, stepFacts, type NotedStep } from '../../store/step';
import { booleans, integers, texts, uuids } from './binary-array';
import { askedId } from './delivery-id';
import { notedSql } from './history-sql';
import { MESSAGE_WITH_BODY, messageWithBody } from './message-rows';
import { storableOrNull } from './noting';
import type { Row, Plan } from './statement';
import { byNumber, type Reply, type Request, type Step } from './step';
import { storedText } from './stored-text';
import type { Tables } from './tables';

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
