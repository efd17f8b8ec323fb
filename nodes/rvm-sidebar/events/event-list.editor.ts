import type { Desk } from '../list/desk.editor';
import { RowList } from '../list/row-list.editor';
import { own, present } from '../list/row.editor';
import { Section } from '../list/section.editor';
import type { Overview, SidebarRow } from '../overview';
import { PAGE, type EventFeed } from './event-feed';
import { EventRow, type EventRowOptions } from './event-row.editor';
import { newFeed } from './new-feed.editor';

/** The events, newest first. */
export class EventList {
  readonly section: Section;
  readonly feed: EventFeed;
  readonly #rows: RowList<SidebarRow, EventRow>;
  #shown: readonly SidebarRow[] = [];

  constructor(
    private readonly desk: Desk,
    options: EventRowOptions,
  ) {
    this.feed = newFeed('all', () => desk.redraw());
    this.section = new Section('events', () => {
      this.feed.more();
      desk.redraw();
    });
    this.#rows = new RowList(this.section.list, {
      keyOf: ({ deliveryId }) => deliveryId,
      make: () => new EventRow(options),
      // An event stays; it is only that newer ones take its place.
      isGone: () => false,
    });
  }

  /** @returns how many wait to be shown */
  show({ events, from, totals, isPartial }: Overview): number {
    this.feed.look();
    this.#shown = this.feed.rows({ events, from: from.events });
    const further = isPartial ? [$('<div class="rvm-quiet">').text(own('partial'))] : [];
    const hold = this.desk.holdOf(this.section.element);
    const waiting = this.#rows.show(this.#shown, { hold, further });
    this.#tell(totals);
    return waiting;
  }

  /** Those that are listed. */
  get shown(): readonly SidebarRow[] {
    return this.#shown;
  }

  #tell({ events, isCut, byState }: Overview['totals']): void {
    const { received = 0, leased = 0, filtered = 0 } = byState;

    const further = [
      received + leased > 0 ? own('bar.open', { count: shownNumber(received + leased) }) : null,
      filtered > 0 ? own('bar.filtered', { count: shownNumber(filtered) }) : null,
    ];
    this.section.count(totalText(events, isCut), present(further, ' · '));
    const hasMore = this.feed.hasMore(this.feed.found?.matches ?? events) && this.#shown.length >= PAGE;
    this.section.more(hasMore ? own('bar.more') : '');
  }
}

/** As the language of the browser writes it. */
export function shownNumber(count: number): string {
  return count.toLocaleString();
}

/** @param isCut there are more */
export function totalText(count: number, isCut: boolean): string {
  return isCut ? `${shownNumber(count)}+` : shownNumber(count);
}
