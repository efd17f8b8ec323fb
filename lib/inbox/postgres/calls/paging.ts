import type { ListQuery } from '../../inbox';
import { MAX_LISTED } from '../../store/stored-message';
import type { PagedMessage } from '../../store/page';
import { courseColumns, courseOf } from './history-sql';
import { listedMessage, MESSAGE_WITH_BODY, STORED_COLUMNS } from './message-rows';
import { whole } from './listing';
import type { Row, Plan } from './statement';
import type { Request, Step } from './step';
import type { Tables } from './tables';

/** Before the first message that was received at a time. */
const FIRST = -1;

type Kind = `${ListQuery['state']}${'' | '_bare'}`;

/** The messages of a period, oldest first. */
export class Paging {
  readonly #page: Readonly<Record<Kind, Plan>>;

  constructor(tables: Tables) {
    const statement = (state: ListQuery['state'], kind: Kind): [Kind, Plan] => [
      kind,
      { name: `rvm_page_${kind}`, text: pageSql(tables, STATES[state], kind === state) },
    ];
    const states = Object.keys(STATES) as ListQuery['state'][];
    this.#page = Object.fromEntries(
      states.flatMap((state) => [statement(state, state), statement(state, `${state}_bare`)]),
    ) as Record<Kind, Plan>;
  }

  page({ id, take }: Request<'page'>): Step {
    const { state, since, until, after, limit, bodies, steps } = take;
    const { received, sequence } = after ?? { received: whole(since), sequence: FIRST };
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
