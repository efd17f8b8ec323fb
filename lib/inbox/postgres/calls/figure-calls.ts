import { SELF_TEST_ID } from '../../../message/envelope';
import type { MessageState } from '../../inbox';
import type { InboxCounts, InboxFigures } from '../../inbox-figures';
import type { InboxClock } from './inbox-clock';
import type { Plan } from './statement';
import type { Request, Step } from './step';
import { storable, storedText } from './stored-text';
import { MOVING, type Tables } from './tables';

/** How the inbox stands. All of it only reads, so that a database that waits for its standby can say so. */
export class FigureCalls {
  readonly #oldest: Plan;
  readonly #dead: Plan;
  readonly #standby: Plan;
  readonly #newest: Plan;
  readonly #allDead: Plan;

  constructor(
    tables: Tables,
    private readonly clock: InboxClock,
  ) {
    this.#oldest = { name: 'rvm_oldest', text: oldestSql(tables) };
    this.#dead = { name: 'rvm_dead_by_station', text: deadSql(tables) };
    this.#newest = { name: 'rvm_counts_of_newest', text: newestSql(tables) };
    this.#allDead = { name: 'rvm_counts_of_dead', text: allDeadSql(tables) };
    this.#standby = { name: 'rvm_standby', text: STANDBY };
  }

  all({ id, take }: Request<'figures'>): Step[] {
    const figures: InboxFigures = { oldest: {}, dead: {} };
    return [
      {
        statement: this.#oldest,
        values: [take.map(storable)],
        read: (rows) => {
          for (const row of rows) this.clock.heard(Number(row['clock'] ?? 0));
          for (const row of rows)
            figures.oldest[storedText(row['endpoint'])] = Math.max(
              0,
              this.clock.now() - Number(row['stored']),
            );
          return [];
        },
      },
      {
        statement: this.#dead,
        values: [],
        read: (rows) => {
          for (const row of rows) figures.dead[storedText(row['station'])] = Number(row['count']);
          return [];
        },
      },
      {
        statement: this.#standby,
        values: [],
        read: ([row]) => {
          figures.standby = row?.['away'] === true ? 'away' : row?.['waited_for'] === true ? 'there' : 'none';
          return [{ id, give: figures }];
        },
      },
    ];
  }

  counts({ id, take }: Request<'counts'>): Step[] {
    const counts: InboxCounts = { newest: [], dead: 0, exhausted: 0 };
    return [
      {
        statement: this.#newest,
        values: [take.newest],
        read: (rows) => {
          counts.newest = rows.map((row) => ({
            station: storedText(row['station']),
            state: storedText(row['state']) as MessageState,
            count: Number(row['count']),
            last: Number(row['last']),
          }));
          return [];
        },
      },
      {
        statement: this.#allDead,
        values: [],
        read: ([row]) => {
          const exhausted = Number(row?.['exhausted']);
          return [{ id, give: { ...counts, dead: Number(row?.['dead']) + exhausted, exhausted } }];
        },
      },
    ];
  }
}

/** Of each rank the first to be delivered, and of these the older one. */
function oldestSql({ work, message, meta }: Tables): string {
  const first = (rank: 0 | 1): string => `(SELECT sequence FROM ${work} AS work
    WHERE work.endpoint = asked.endpoint AND work.state = 'received' AND work.rank = ${rank} ORDER BY sequence LIMIT 1)`;
  return `SELECT asked.endpoint, min(message.stored) AS stored,
      (SELECT value FROM ${meta} WHERE name = 'clock') AS clock
    FROM unnest($1::text[]) AS asked (endpoint)
    CROSS JOIN LATERAL (${first(0)} UNION ALL ${first(1)}) AS first
    JOIN ${message} AS message USING (sequence) GROUP BY asked.endpoint`;
}

/** As a list of dead letters has them: those that can be had again are in "work" alone. */
function deadSql({ work, message }: Tables): string {
  return `SELECT station, count(*) AS count FROM (
      SELECT station FROM ${message} WHERE state IN ('dead', 'conflict', 'stale') AND again IS DISTINCT FROM 'dismissed'
      UNION ALL SELECT message.station FROM ${work} AS work JOIN ${message} AS message USING (sequence) WHERE work.state = 'dead'
    ) AS dead GROUP BY station`;
}

/** What is on its way from another store waits. */
function newestSql({ work, message }: Tables): string {
  const state = `CASE work.state WHEN '${MOVING}' THEN 'received' ELSE coalesce(work.state, message.state) END`;
  return `SELECT message.station, ${state} AS state, count(*) AS count, max(message.received) AS last FROM (
      SELECT sequence, station, state, received FROM ${message} AS message
      WHERE NOT (message.state = 'other' AND message.id LIKE '${SELF_TEST_ID}%') ORDER BY sequence DESC LIMIT $1::bigint
    ) AS message LEFT JOIN ${work} AS work USING (sequence) GROUP BY 1, 2`;
}

function allDeadSql({ work, message }: Tables): string {
  return `SELECT (SELECT count(*) FROM ${message}
      WHERE state IN ('dead', 'conflict', 'stale') AND again IS DISTINCT FROM 'dismissed') AS dead,
    (SELECT count(*) FROM ${work} WHERE state = 'dead') AS exhausted`;
}

/** The settings of others, for those of a batch are its own; connections of this role whose commits wait for a standby in vain. */
const STANDBY = `SELECT current_setting('synchronous_standby_names') <> ''
    AND (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') <> 'local' AS waited_for,
  EXISTS (SELECT FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND clock_timestamp() - query_start > interval '5 seconds') AS away`;
