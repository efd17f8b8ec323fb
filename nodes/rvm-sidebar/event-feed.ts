import { type FoundEvents, MOST_SHOWN, type SidebarRow } from './overview';

/** Rows of the overview, and half of those that each "more" adds. */
export const PAGE = 50;
/**
 * Shortest time in milliseconds between two requests for further rows; at least `TIMES` times the duration of the last request.
 */
const EVERY = 5000;
const TIMES = 20;

/**
 * Part of the overview: the newest matching events, and the time of the oldest that was read; null where there are no others.
 */
interface Newest {
  events: readonly SidebarRow[];
  from: string | null;
}

/** Request to the runtime: list, number of rows, and search words, absent where there are none. */
export interface FeedQuestion {
  state: 'all' | 'dead';
  limit: number;
  search?: string;
}

export interface FeedOptions {
  state: FeedQuestion['state'];
  ask: (question: FeedQuestion) => Promise<FoundEvents>;
  /**
   * Called when a result that the user waits for is there. Other results appear with the next overview, which may be frozen.
   */
  changed: () => void;
}

/** One list of events: the newest come with the overview, older ones are requested only while the user wants to see them. */
export class EventFeed {
  #search = '';
  #limit = PAGE;
  #found: FoundEvents | undefined;
  #asking = false;
  #dueAt = -Infinity;
  /** False while the runtime has told nothing since the last request. */
  #isOutdated = true;
  /** Number of times the cached rows became stale. */
  #generation = 0;
  /** True while the user waits for the answer. */
  #isAsked = false;
  fault = '';

  constructor(private readonly options: FeedOptions) {}

  /** Result of the search; undefined without a search, and until the runtime has answered. */
  get found(): FoundEvents | undefined {
    return this.#search === '' ? undefined : this.#found;
  }

  get limit(): number {
    return this.#limit;
  }

  search(search: string): void {
    if (search === this.#search) return;
    this.#search = search;
    this.#limit = PAGE;
    this.#found = undefined;
    this.#askNow();
  }

  /** True where more of `count` rows can be listed; beyond the limit the user has to search. */
  hasMore(count: number): boolean {
    return count > this.#limit && this.#limit < MOST_SHOWN;
  }

  more(): void {
    this.#limit = Math.min(this.#limit + 2 * PAGE, MOST_SHOWN);
    this.#askNow();
  }

  /** Reduces the list to the newest rows. */
  fold(): void {
    this.#limit = PAGE;
  }

  /** Has the rows requested once more after the pause: the runtime has told that something has changed. */
  outdated(): void {
    this.#isOutdated = true;
  }

  /** Marks the cached rows and any pending answer as stale. */
  stale(): void {
    this.#generation += 1;
    this.#dueAt = -Infinity;
    this.#isOutdated = true;
  }

  rows({ events, from }: Newest): SidebarRow[] {
    const newest = new Set(events.map(({ deliveryId }) => deliveryId));
    // A row in the time span of the newest rows that is not among them is gone.
    const isThere = ({ deliveryId, time }: SidebarRow): boolean =>
      from !== null && time <= from && !newest.has(deliveryId);
    const older = (this.#found?.events ?? []).filter(isThere);
    return [...events, ...older]
      .sort((one, other) => other.time.localeCompare(one.time))
      .slice(0, this.#limit);
  }

  /** Requests further rows, where the user wants to see them, they may be others, and the pause is over. */
  look(dueAt = this.#dueAt): void {
    const isWanted = this.#search !== '' || this.#limit > PAGE;
    if (!isWanted) {
      this.#found = undefined;
      this.#isAsked = false;
    } else if (this.#isOutdated && !this.#asking && performance.now() >= dueAt) void this.#ask();
  }

  #askNow(): void {
    this.#isAsked = true;
    this.#isOutdated = true;
    this.look(0);
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    this.#isOutdated = false;
    const [search, limit, generation] = [this.#search, this.#limit, this.#generation];
    const began = performance.now();
    const { state, ask, changed } = this.options;
    try {
      const found = await ask({ state, limit, ...(search !== '' && { search }) });
      if (search === this.#search) this.#found = found;
      this.fault = '';
    } catch (failure) {
      this.fault = failure instanceof Error ? failure.message : String(failure);
      this.#isOutdated = true;
    } finally {
      this.#asking = false;
      this.#dueAt = performance.now() + Math.max(EVERY, TIMES * (performance.now() - began));
    }
    if (search !== this.#search || limit !== this.#limit || generation !== this.#generation) {
      this.#isOutdated = true;
      return this.look(0);
    }
    if (this.#isAsked) changed();
    this.#isAsked = false;
  }
}
