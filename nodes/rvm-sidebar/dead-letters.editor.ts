import { ask, post, tell } from '../support/editor/requests';
import type { EventFeed } from './event-feed';
import { eventName, EventRow, type EventRowOptions, newFeed } from './event-list.editor';
import {
  type ActedOn,
  DEAD_ACTIONS,
  type DeadLetters,
  MOST_AT_ONCE,
  type Overview,
  type SidebarRow,
} from './overview';
import {
  confirm,
  type ListContext,
  own,
  RowActions,
  RowList,
  type RowView,
  said,
  type Showing,
  textOf,
} from './rows.editor';

/** What no flow gets any more, with what can be done about it: of one, or of all. */
export class DeadLetterList {
  readonly feed: EventFeed;
  readonly bulk: BulkActions;
  readonly #rows: RowList<SidebarRow, EventRow>;
  #from: string | null = null;
  #count = 0;
  shown: readonly SidebarRow[] = [];

  constructor(
    list: JQuery,
    desk: ListContext,
    private readonly options: Pick<EventRowOptions, 'thumbnails' | 'opened' | 'hand'> & {
      search: () => string;
    },
  ) {
    this.feed = newFeed('dead', () => desk.redraw());
    this.bulk = new BulkActions(desk, options.search);
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

  constructor({ deliveryId }: SidebarRow, desk: ListContext) {
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

type Action = (typeof DEAD_ACTIONS)[number];

/** How many dead letters there are that match what is looked for, and how many of them can be delivered again. */
interface BulkCounts {
  retry: number;
  discard: number;
}

/** What can be done with all dead letters, or with all that match what is looked for. */
class BulkActions {
  readonly element = $('<div class="rvm-bulk">');
  readonly #buttons: Record<Action, JQuery>;
  readonly #progress = $('<span role="status" class="rvm-quiet">');
  readonly #stop = $('<button type="button" class="red-ui-button red-ui-button-small">');
  #isStopped = false;
  #isAtWork = false;

  /** @param search what is looked for; '' where nothing is */
  constructor(
    private readonly desk: ListContext,
    private readonly search: () => string,
  ) {
    this.#buttons = { retry: this.#button('retry'), discard: this.#button('discard') };
    this.#stop.text(own('bulk.stop')).on('click', () => (this.#isStopped = true));
    this.element.append(this.#buttons.retry, this.#buttons.discard, this.#progress, this.#stop.hide());
  }

  show(counts: BulkCounts): void {
    for (const action of ['retry', 'discard'] as const) {
      const count = counts[action];
      const text = own(`bulk.${action}`, { count: count.toLocaleString() });
      const button = this.#buttons[action];
      if (button.text() !== text) button.text(text);
      // It stays in its place: nothing moves under the pointer.
      button.toggle(this.desk.mayAct && (count > 1 || this.#isAtWork)).prop('disabled', this.#isAtWork);
    }
  }

  #button(action: Action): JQuery {
    return $('<button type="button" class="red-ui-button red-ui-button-small">')
      .attr('data-action', `${action}-all`)
      .on('click', () => void this.#begin(action));
  }

  async #begin(action: Action): Promise<void> {
    if (this.#isAtWork) return;
    this.#isAtWork = true;
    try {
      await this.#run(action);
    } catch (failure) {
      tell(textOf(failure), { type: 'error' });
    } finally {
      this.#isAtWork = false;
      this.#stop.hide();
      this.#progress.text('');
    }
  }

  /** Those that there are when the question is asked, and no others; nor what somebody has just discarded and may have back. */
  async #run(action: Action): Promise<void> {
    const search = this.search();
    const { letters } = await ask<DeadLetters>(said, { url: 'rvm/dead-letters', data: { search } });
    const wanted = letters.filter(({ canRetry }) => action === 'discard' || canRetry);
    const ids = wanted
      .map(({ deliveryId }) => deliveryId)
      .filter((id) => this.desk.discards.stateOf(id) === undefined);
    const count = ids.length.toLocaleString();
    const question =
      search === ''
        ? own(`bulk.ask.${action}`, { count })
        : own(`bulk.askFound.${action}`, { count, search });
    if (ids.length === 0 || !(await confirm(question, own(`bulk.${action}`, { count })))) return;
    const { done, failed } = await this.#actOn(action, ids);
    const told = own(`bulk.done.${action}`, { count: done.toLocaleString() });
    const failures = failed === 0 ? '' : ` ${own('bulk.failed', { count: failed.toLocaleString() })}`;
    tell(told + failures, { type: failed === 0 ? 'success' : 'warning', timeout: 6000 });
  }

  async #actOn(action: Action, ids: readonly string[]): Promise<ActedOn> {
    this.#isStopped = false;
    this.#stop.show();
    const sum: ActedOn = { done: 0, failed: 0 };
    for (let at = 0; at < ids.length && !this.#isStopped; at += MOST_AT_ONCE) {
      this.#progress.text(
        own('bulk.progress', { done: at.toLocaleString(), count: ids.length.toLocaleString() }),
      );
      const deliveryIds = ids.slice(at, at + MOST_AT_ONCE);
      const { done, failed } = await post<ActedOn>(said, 'dead-letters', { action, deliveryIds });
      sum.done += done;
      sum.failed += failed;
      this.desk.stale();
    }
    return sum;
  }
}
