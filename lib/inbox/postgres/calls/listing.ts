import { SELF_TEST_ID } from '../../../message/envelope';
import type { ListQuery } from '../../inbox';
import { askedId } from './delivery-id';
import { alarmKey } from './keys';
import { courseColumns, courseOf } from './history-sql';
import { listedMessage, MESSAGE_WITH_BODY } from './message-rows';
import type { Plan } from './statement';
import type { Request, Step } from './step';
import type { Tables } from './tables';

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
export function whole(number: number): number {
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
