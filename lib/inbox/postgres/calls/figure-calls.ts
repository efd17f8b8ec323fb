import type { InboxFigures } from '../../inbox-figures';
import type { InboxClock } from './inbox-clock';
import type { Statement } from './statement';
import type { Request, Step } from './step';
import { storable, storedText } from './stored-text';
import type { Tables } from './tables';

/** How the inbox stands. All of it only reads, so that a database that waits for its standby can say so. */
export class FigureCalls {
  readonly #oldest: Statement;
  readonly #dead: Statement;
  readonly #standby: Statement;

  constructor(
    tables: Tables,
    private readonly clock: InboxClock,
  ) {
    this.#oldest = { name: 'rvm_oldest', text: oldestSql(tables) };
    this.#dead = { name: 'rvm_dead_by_station', text: deadSql(tables) };
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

/** The settings of others, for those of a batch are its own; connections of this role whose commits wait for a standby in vain. */
const STANDBY = `SELECT current_setting('synchronous_standby_names') <> ''
    AND (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') <> 'local' AS waited_for,
  EXISTS (SELECT FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND clock_timestamp() - query_start > interval '5 seconds') AS away`;
