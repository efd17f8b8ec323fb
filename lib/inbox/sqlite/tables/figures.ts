import type { InboxFigures } from '../../inbox-figures';
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

  #since(stored: number): number {
    return Math.max(0, Math.round(this.clock() - stored));
  }
}
