import type { EventFeed } from '../events/event-feed';
import { eventName, EventRow, type EventRowOptions } from '../events/event-row.editor';
import { newFeed } from '../events/new-feed.editor';
import type { Desk } from '../list/desk.editor';
import { RowActions } from '../list/row-actions.editor';
import { RowList, type RowView, type Showing } from '../list/row-list.editor';
import { said } from '../list/row.editor';
import { DEAD_ACTIONS, type Overview, type SidebarRow } from '../overview';
import { Bulk } from './bulk.editor';

/** What no flow gets any more, with what can be done about it: of one, or of all. */
export class DeadList {
  readonly feed: EventFeed;
  readonly bulk: Bulk;
  readonly #rows: RowList<SidebarRow, EventRow>;
  #from: string | null = null;
  #count = 0;
  shown: readonly SidebarRow[] = [];

  constructor(
    list: JQuery,
    desk: Desk,
    private readonly options: Pick<EventRowOptions, 'thumbnails' | 'opened' | 'hand'> & {
      search: () => string;
    },
  ) {
    this.feed = newFeed('dead', () => desk.redraw());
    this.bulk = new Bulk(desk, options.search);
    this.#rows = new RowList(list, {
      keyOf: ({ deliveryId }) => deliveryId,
      make: () => {
        const below = (row: SidebarRow): RowView<SidebarRow> => new DeadBelow(row, desk);
        return new EventRow({ ...this.options, below });
      },
      isGone: ({ time }) => this.#from === null || time > this.#from || this.feed.found !== undefined,
    });
  }

  /** How many there are that match. */
  count({ dead, totals }: Overview): number {
    if (this.options.search() === '') return Math.max(totals.dead, dead.length);
    return this.feed.found?.matches ?? dead.length;
  }

  /** Whether more can be had than are listed. */
  get hasMore(): boolean {
    return this.feed.hasMore(this.#count);
  }

  show(overview: Overview, showing: Showing): number {
    const { dead, from, totals } = overview;
    this.#from = from.dead;
    this.feed.look();
    this.shown = this.feed.rows({ events: dead, from: from.dead });
    const waiting = this.#rows.show(this.shown, showing);
    const discard = this.count(overview);
    this.#count = discard;
    // Of those that match, how many can be had again is known once they have been looked through.
    this.bulk.show({ retry: this.options.search() === '' ? totals.exhausted : this.#retryable(), discard });
    return waiting;
  }

  #retryable(): number {
    return this.feed.found?.retryable ?? this.shown.filter(({ canRetry }) => canRetry).length;
  }
}

/** Why it is a dead letter, and what can be done with it. */
class DeadBelow implements RowView<SidebarRow> {
  readonly #element = $('<div>');
  readonly #why = $('<div class="rvm-quiet rvm-why">');
  readonly #actions: RowActions;

  constructor({ deliveryId }: SidebarRow, desk: Desk) {
    this.#actions = new RowActions(deliveryId, desk);
    this.#element.append(this.#why, this.#actions.element);
  }

  show(row: SidebarRow): JQuery {
    const { deliveryId, canRetry, why } = row;
    const text = why === undefined ? '' : said(why);
    if (this.#why.text() !== text) this.#why.text(text).attr('title', text);
    const actions = DEAD_ACTIONS.filter((action) => action !== 'retry' || canRetry);
    this.#actions.show(
      actions.map((action) => ({
        action,
        asked: { path: 'dead-letters', body: { deliveryId, action } },
        canUndo: action === 'discard',
      })),
      eventName(row),
    );
    return this.#element;
  }
}
