import { type StateCount, MOST_COUNTED } from '../../lib/inbox/model';
import { readAll } from '../../lib/inbox/searches';
import { allInboxes } from '../rvm-inbox/inboxes';
import type { Totals } from './overview';

/** Shortest time in milliseconds for which counts are cached; at least `TIMES` times the duration of counting. */
const FRESH = 1000;
const TIMES = 20;

/** Numbers of messages in the inboxes, counted once for all sidebars. */
export class CachedTotals {
  #counted: Promise<Counted> | undefined;
  #staleAt = -Infinity;

  /** Of all inboxes that can be read, and of what is kept beside one that cannot store. */
  async current(): Promise<Counted> {
    if (this.#counted === undefined || performance.now() >= this.#staleAt) this.#counted = this.#count();
    const { totals, last } = await this.#counted;
    const beside = allInboxes().reduce((sum, inbox) => sum + (inbox.state().spilled ?? 0), 0);
    return { totals: { ...totals, events: totals.events + beside }, last };
  }

  async #count(): Promise<Counted> {
    const began = performance.now();
    this.#staleAt = Infinity;
    const { answers, faults } = await readAll(allInboxes(), (inbox) => inbox.counts());
    this.#staleAt = performance.now() + Math.max(FRESH, TIMES * (performance.now() - began));
    const newest = answers.flatMap((counts) => counts.newest);
    const sum = (counts: readonly { count: number }[]): number =>
      counts.reduce((total, { count }) => total + count, 0);
    const byState = new Map<string, number>();
    for (const { state, count } of newest) byState.set(state, (byState.get(state) ?? 0) + count);
    return {
      totals: {
        events: sum(newest),
        isCut: faults.length > 0 || answers.some((counts) => sum(counts.newest) >= MOST_COUNTED),
        byState: Object.fromEntries(byState),
        dead: sum(answers.map(({ dead }) => ({ count: dead }))),
        exhausted: sum(answers.map(({ exhausted }) => ({ count: exhausted }))),
      },
      last: lastByStation(newest),
    };
  }
}

interface Counted {
  totals: Totals;
  /** Time of receipt of the newest event by station key, in milliseconds since 1970. */
  last: ReadonlyMap<string, number>;
}

function lastByStation(counts: readonly StateCount[]): Map<string, number> {
  const last = new Map<string, number>();
  for (const count of counts) last.set(count.station, Math.max(count.last, last.get(count.station) ?? 0));
  return last;
}
