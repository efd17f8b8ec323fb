import { MOST_STEPS } from '../../store/step';
import type { Tables } from './tables';

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

/** Of the instance of an epoch, as facts of a step. @param epoch an expression */
export function instanceFactsSql({ instance }: Tables, epoch: string): string {
  return `(SELECT json_build_object('instance', sharing.name)::text FROM ${instance} AS sharing WHERE sharing.epoch = ${epoch})`;
}

/** What has become of `message`, beside its row of `work`. @param isAsked an expression: whether its steps are wanted, too */
export function courseColumns({ instance, history }: Tables, isAsked: string): string {
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
