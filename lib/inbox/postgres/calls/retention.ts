import type { InboxClock } from './inbox-clock';
import { tidySlotsSql } from './slot-calls';
import type { Row, Plan } from './statement';
import type { Request, Step } from './step';
import type { Tables } from './tables';

/** Rows looked at in one go, so that a commit never waits long. */
const STEP = 500;
const DAY = 24 * 60 * 60 * 1000;

/** How far a pass has come: this sequence; and what was stored before this time, when it began. */
interface Pass {
  sequence: number;
  from: number;
}

/**
 * Removes what is final and old, by order of insertion: it stops at the first row that is younger. Several instances may be at
 * it at once; what one has removed, the other does not find.
 */
export class RetentionPlans {
  readonly #advance: Plan;
  readonly #quarantine: Plan;
  readonly #slots: Plan;
  readonly #bodies: Plan;
  readonly #messages: Plan;
  /** From the start again once a day, for what was open then may be final now. */
  readonly #done = { bodies: { sequence: 0, from: 0 }, messages: { sequence: 0, from: 0 } };

  constructor(
    tables: Tables,
    private readonly clock: InboxClock,
  ) {
    this.#advance = { name: 'rvm_clock', text: advanceSql(tables) };
    this.#quarantine = { name: 'rvm_tidy_quarantine', text: tidyQuarantineSql(tables) };
    this.#slots = { name: 'rvm_tidy_slots', text: tidySlotsSql(tables) };
    this.#bodies = { name: 'rvm_tidy_bodies', text: passSql(tables, [tables.body, tables.history]) };
    this.#messages = {
      name: 'rvm_tidy_messages',
      text: passSql(tables, [tables.body, tables.history, tables.course, tables.message]),
    };
  }

  /** One step. A key is kept for at least its time, and as long as its body. */
  tidy({ id, take: { keys, bodies } }: Request<'tidy'>): Step[] {
    let hasMore = false;
    return [
      {
        statement: this.#advance,
        values: [this.clock.now()],
        read: ([row]) => (this.clock.heard(Number(row?.['now'] ?? 0)), []),
      },
      { statement: this.#quarantine, values: [Math.round(bodies)] },
      this.#pass(this.#bodies, this.#done.bodies, bodies, (more) => {
        hasMore = more;
        return [];
      }),
      this.#pass(this.#messages, this.#done.messages, Math.max(keys, bodies), (more) => [
        { id, give: more || hasMore },
      ]),
      // Last, for what flows keep waits for it until the commit.
      { statement: this.#slots, values: [] },
    ];
  }

  #pass(
    statement: Plan,
    done: Pass,
    age: number,
    read: (hasMore: boolean) => ReturnType<NonNullable<Step['read']>>,
  ): Step {
    const before = this.clock.now() - age;
    if (before - done.from > DAY) Object.assign(done, { sequence: 0, from: before });
    return {
      statement,
      values: [done.sequence, Math.round(age)],
      read: ([row = {}]) => {
        done.sequence = Number(row['sequence'] ?? done.sequence);
        return read(hasMoreOf(row));
      },
    };
  }
}

function hasMoreOf(row: Row): boolean {
  return Number(row['count']) === STEP;
}

/** Whoever tidies adds the time that it has seen pass: the greatest counts, so that no time is counted twice. */
function advanceSql({ meta }: Tables): string {
  return `UPDATE ${meta} SET value = greatest(value::bigint, $1::bigint)::text WHERE name = 'clock' RETURNING value AS now`;
}

function tidyQuarantineSql({ quarantine, meta }: Tables): string {
  return `DELETE FROM ${quarantine} WHERE stored < (SELECT value::bigint FROM ${meta} WHERE name = 'clock') - $1::bigint`;
}

/** Dead letters stay until somebody deals with them, or discards them, and what is open stays. */
function passSql({ message, work, meta }: Tables, from: readonly string[]): string {
  const removals = from.map(
    (table, index) => `, gone_${index} AS (
  DELETE FROM ${table} AS kept USING old WHERE kept.sequence = old.sequence AND old.is_final
)`,
  );
  return `
WITH aging AS MATERIALIZED (
  SELECT message.sequence, message.stored >= (SELECT value::bigint FROM ${meta} WHERE name = 'clock') - $2::bigint AS is_young,
    work.sequence IS NULL AND (message.state <> 'dead' OR message.again IS NOT DISTINCT FROM 'dismissed') AS is_final
  FROM ${message} AS message LEFT JOIN ${work} AS work USING (sequence)
  WHERE message.sequence > $1::bigint ORDER BY message.sequence LIMIT ${STEP}
), old AS MATERIALIZED (
  SELECT sequence, is_final FROM aging
  WHERE sequence < coalesce((SELECT min(sequence) FROM aging WHERE is_young), 9223372036854775807)
)${removals.join('')}
SELECT max(sequence) AS sequence, count(*) AS count FROM old`;
}
