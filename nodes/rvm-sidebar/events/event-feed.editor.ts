import { ask } from '../../support/editor/ask';
import { said, textOf } from '../list/row.editor';
import type { FoundEvents, SidebarRow } from '../overview';

/** Rows that the overview has, and those that come with each wish for more. */
export const PAGE = 50;
/** Between two questions for what the overview has not, in milliseconds; and so many times as long as the last one took. */
const EVERY = 5000;
const TIMES = 20;

/** Of the overview: the newest that match, and the oldest of those that were looked at, null where there are no others. */
export interface Newest {
  events: readonly SidebarRow[];
  from: string | null;
}

/** One list of events: the newest, of which the overview tells, and older ones, which are asked for where somebody wants to see them. */
export class EventFeed {
  #search = '';
  #limit = PAGE;
  #found: FoundEvents | undefined;
  #asking = false;
  #dueAt = -Infinity;
  /** Somebody waits for the answer. */
  #isAsked = false;
  fault = '';

  /** @param changed called when there is what somebody has just asked for: the rest comes with the next overview, which may be held */
  constructor(
    private readonly state: 'all' | 'dead',
    private readonly changed: () => void,
  ) {}

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

  more(limit = this.#limit + 2 * PAGE): void {
    this.#limit = limit;
    this.#askNow();
  }

  /** What there was is not so any more. */
  stale(): void {
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
    const [search, limit, began] = [this.#search, this.#limit, performance.now()];
    try {
      const data = { state: this.state, limit, ...(search !== '' && { search }) };
      const found = await ask<FoundEvents>(said, { url: 'rvm/events', data });
      if (search === this.#search) this.#found = found;
      this.fault = '';
    } catch (failure) {
      this.fault = textOf(failure);
    } finally {
      this.#asking = false;
      this.#dueAt = performance.now() + Math.max(EVERY, TIMES * (performance.now() - began));
    }
    if (search !== this.#search || limit !== this.#limit) return this.look(0);
    if (this.#isAsked) this.changed();
    this.#isAsked = false;
  }
}
