import { stepFacts } from '../../store/step';
import { askedId } from './delivery-id';
import { notedSql } from './history-sql';
import type { Plan } from './statement';
import type { Request, Step } from './step';
import { storable } from './stored-text';
import type { Tables } from './tables';

/** Notes steps of messages, whoever has leased them. */
export class HistoryPlans {
  readonly #note: Plan;

  constructor(tables: Tables) {
    this.#note = { name: 'rvm_note', text: noteSql(tables) };
  }

  note({ id, take: { deliveryId, step, ifOpen = false } }: Request<'note'>): Step {
    return {
      statement: this.#note,
      values: [
        askedId(deliveryId),
        Math.round(step.time),
        step.step,
        storableOrNull(step.by),
        stepFacts(step),
        step.verdict ?? null,
        ifOpen,
      ],
      read: ([row]) => [{ id, give: row?.['state'] }],
    };
  }
}

export function storableOrNull(text: string | undefined): string | null {
  return text === undefined ? null : storable(text);
}

function noteSql(tables: Tables): string {
  const { message, work, history } = tables;
  return `
WITH asked AS MATERIALIZED (
  SELECT message.sequence, coalesce(work.state, message.state) AS state
  FROM ${message} AS message LEFT JOIN ${work} AS work USING (sequence) WHERE message.delivery_id = $1::uuid
), fresh AS MATERIALIZED (
  SELECT sequence FROM asked WHERE (NOT $7::boolean OR state IN ('received', 'leased')) AND NOT EXISTS (
    SELECT FROM ${history} AS known WHERE known.sequence = asked.sequence AND known.time = $2::bigint AND known.step = $3::text
      AND known.facts IS NOT DISTINCT FROM $5::text)
), ${notedSql(tables, 'fresh', { time: '$2', step: '$3', actor: '$4', facts: '$5' })}, judged AS (
  UPDATE ${message} AS message SET verdict = $6::text, judged = $2::bigint
  FROM fresh WHERE message.sequence = fresh.sequence AND $6::text IS NOT NULL
)
SELECT state FROM asked`;
}
