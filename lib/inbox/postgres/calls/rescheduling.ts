import { uuids } from './binary-array';
import { askedId } from './delivery-id';
import { instanceFactsSql, notedSql } from './history-sql';
import { storableOrNull } from './noting';
import type { Row, Plan } from './statement';
import type { Request, Step } from './step';
import { storedText } from './stored-text';
import type { Tables } from './tables';

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
