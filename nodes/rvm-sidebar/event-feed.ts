import { type FoundEvents, MOST_SHOWN, type SidebarRow } from './overview';

/** Rows that the overview has, and those that come with each wish for more. */
export const PAGE = 50;
/** Between two questions for what the overview has not, in milliseconds; and so many times as long as the last one took. */
const EVERY = 5000;
const TIMES = 20;

/** Of the overview: the newest that match, and the oldest of those that were looked at, null where there are no others. */
interface Newest {
  events: readonly SidebarRow[];
  from: string | null;
}

/** What is asked of the runtime: which list, how many rows, and the words that are looked for, absent where there are none. */
export interface FeedQuestion {
  state: 'all' | 'dead';
  limit: number;
  search?: string;
}

export interface FeedOptions {
  state: FeedQuestion['state'];
  ask: (question: FeedQuestion) => Promise<FoundEvents>;
  /** Why the runtime could not answer. */
  faultOf: (failure: unknown) => string;
  /** Called when there is what somebody has just asked for: the rest comes with the next overview, which may be held. */
  changed: () => void;
}

/** One list of events: the newest, of which the overview tells, and older ones, which are asked for where somebody wants to see them. */
export class EventFeed {
  #search = '';
  #limit = PAGE;
  #found: FoundEvents | undefined;
  #asking = false;
  #dueAt = -Infinity;
  /** How often what there was has become stale. */
  #generation = 0;
  /** Somebody waits for the answer. */
  #isAsked = false;
  fault = '';

  constructor(private readonly options: FeedOptions) {}

  /** What the runtime has found of what is looked for; undefined where nothing is, and until it has answered. */
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

  /** Whether more can be had of so many: beyond a bound the filter finds what is wanted. */
  hasMore(count: number): boolean {
    return count > this.#limit && this.#limit < MOST_SHOWN;
  }

  more(): void {
    this.#limit = Math.min(this.#limit + 2 * PAGE, MOST_SHOWN);
    this.#askNow();
  }

  /** Nobody wants to see more than the newest any more. */
  fold(): void {
    this.#limit = PAGE;
  }

  /** What there was is not so any more, nor what is on its way. */
  stale(): void {
    this.#generation += 1;
    this.#dueAt = -Infinity;
  }

  /** Newest first. */
  rows({ events, from }: Newest): SidebarRow[] {
    const newest = new Set(events.map(({ deliveryId }) => deliveryId));
    // What is not among the newest, though it would be, is gone.
    const isThere = ({ deliveryId, time }: SidebarRow): boolean =>
      from !== null && time <= from && !newest.has(deliveryId);
    const older = (this.#found?.events ?? []).filter(isThere);
    return [...events, ...older]
      .sort((one, other) => other.time.localeCompare(one.time))
      .slice(0, this.#limit);
  }

  /** Asks for what the overview has not, where somebody wants to see it, and it is time. */
  look(dueAt = this.#dueAt): void {
    const isWanted = this.#search !== '' || this.#limit > PAGE;
    if (!isWanted) {
      this.#found = undefined;
      this.#isAsked = false;
    } else if (!this.#asking && performance.now() >= dueAt) void this.#ask();
  }

  #askNow(): void {
    this.#isAsked = true;
    this.look(0);
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    const [search, limit, generation] = [this.#search, this.#limit, this.#generation];
    const began = performance.now();
    const { state, ask, faultOf, changed } = this.options;
    try {
      const found = await ask({ state, limit, ...(search !== '' && { search }) });
      if (search === this.#search) this.#found = found;
      this.fault = '';
    } catch (failure) {
      this.fault = faultOf(failure);
    } finally {
      this.#asking = false;
      this.#dueAt = performance.now() + Math.max(EVERY, TIMES * (performance.now() - began));
    }
    if (search !== this.#search || limit !== this.#limit || generation !== this.#generation)
      return this.look(0);
    if (this.#isAsked) changed();
    this.#isAsked = false;
  }
}
