import { ask, post, notify } from '../support/editor/requests';
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

/** List of the dead letters, with actions for one or for all. */
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

  /** Number of dead letters that match the search. */
  count({ dead, totals }: Overview): number {
    if (this.options.search() === '') return Math.max(totals.dead, dead.length);
    return this.feed.found?.matches ?? dead.length;
  }

  /** True where more can be loaded than are listed. */
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
    // During a search, the number that can be delivered again is known only after all were read.
    this.bulk.show({ retry: this.options.search() === '' ? totals.exhausted : this.#retryable(), discard });
    return waiting;
  }

  #retryable(): number {
    return this.feed.found?.retryable ?? this.shown.filter(({ canRetry }) => canRetry).length;
  }
}

/** Shows below a dead letter why it is one, with its actions. */
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
        request: { path: 'dead-letters', body: { deliveryId, action } },
        canUndo: action === 'discard',
      })),
      eventName(row),
    );
    return this.#element;
  }
}

type Action = (typeof DEAD_ACTIONS)[number];

/** Number of dead letters that match the search, and of those that can be delivered again. */
interface BulkCounts {
  retry: number;
  discard: number;
}

/** Actions on all dead letters, or on all that match the search. */
class BulkActions {
  readonly element = $('<div class="rvm-bulk">');
  readonly #buttons: Record<Action, JQuery>;
  readonly #progress = $('<span role="status" class="rvm-quiet">');
  readonly #stop = $('<button type="button" class="red-ui-button red-ui-button-small">');
  #isStopped = false;
  #isAtWork = false;

  /** @param search the search text; '' where there is none */
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
      // The button stays in place while at work: nothing moves under the pointer.
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
      notify(textOf(failure), { type: 'error' });
    } finally {
      this.#isAtWork = false;
      this.#stop.hide();
      this.#progress.text('');
    }
  }

  /** Acts on the dead letters present when the user was asked, without those just discarded that can still be undone. */
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
    const text = own(`bulk.done.${action}`, { count: done.toLocaleString() });
    const failures = failed === 0 ? '' : ` ${own('bulk.failed', { count: failed.toLocaleString() })}`;
    notify(text + failures, { type: failed === 0 ? 'success' : 'warning', timeout: 6000 });
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
