import type { MessageState } from '../../inbox';
import type { InboxCounts, InboxFigures } from '../../inbox-figures';
import type { Statements } from './statements';

/** The order of delivery: what waits longest of either may be the oldest. */
const RANKS = [0, 1];

/** How a file stands. No transactions of its own. */
export class Figures {
  /** @param clock the clock of the file, in milliseconds */
  constructor(
    private readonly statements: Statements,
    private readonly clock: () => number,
  ) {}

  /** @param endpoints those at which events may wait */
  all(endpoints: readonly string[]): InboxFigures {
    const oldest = endpoints.flatMap((endpoint) => {
      const stored = RANKS.flatMap((rank) => this.statements.oldestAt.get(endpoint, rank)?.['stored'] ?? []);
      return stored.length === 0 ? [] : [[endpoint, this.#since(Math.min(...stored.map(Number)))] as const];
    });
    const dead = this.statements.deadByStation.all();
    return {
      oldest: Object.fromEntries(oldest),
      dead: Object.fromEntries(dead.map((row) => [String(row['station']), Number(row['count'])])),
    };
  }

  counts({ newest }: { newest: number }): InboxCounts {
    const rows = this.statements.countsOfNewest.all(newest);
    const dead = this.statements.countsOfDead.get();
    return {
      newest: rows.map((row) => ({
        station: String(row['station']),
        state: String(row['state']) as MessageState,
        count: Number(row['count']),
        last: Number(row['last']),
      })),
      dead: Number(dead?.['count']),
      exhausted: Number(dead?.['exhausted']),
    };
  }

  #since(stored: number): number {
    return Math.max(0, Math.round(this.clock() - stored));
  }
}
