import { instanceFactsSql, notedSql } from './history-sql';
import { MESSAGE_WITH_BODY, messageWithBody, STORED_COLUMNS, storedMessage } from './message-rows';
import type { StoredMessage } from '../../store/protocol';
import type { Row, Plan } from './statement';
import type { Request, Step } from './step';
import { storable } from './stored-text';
import type { Tables } from './tables';

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
