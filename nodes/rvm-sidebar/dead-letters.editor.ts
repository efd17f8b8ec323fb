import { html, nothing, type TemplateResult } from 'lit/html.js';
import { ask, post, notify } from '../support/editor/requests';
import type { EventFeed } from './event-feed';
import { eventName, type EventParts, eventRow, newFeed } from './event-list.editor';
import {
  type ActedOn,
  DEAD_ACTIONS,
  type DeadLetters,
  MOST_AT_ONCE,
  type Overview,
  type SidebarRow,
} from './overview';
import {
  button,
  confirm,
  FrozenRows,
  type Holding,
  type ListContext,
  own,
  rowActions,
  said,
  type ShownRow,
  textOf,
} from './rows.editor';

/** List of the dead letters, with actions for one or for all. */
export class DeadLetterList {
  readonly feed: EventFeed;
  readonly bulk: BulkActions;
  readonly #rows: FrozenRows<SidebarRow>;
  #from: string | null = null;
  #count = 0;

  /** @param search the search text; '' where there is none */
  constructor(
    private readonly desk: ListContext,
    private readonly parts: EventParts,
    private readonly search: () => string,
  ) {
    this.feed = newFeed('dead', () => desk.redraw());
    this.bulk = new BulkActions(desk, search);
    this.#rows = new FrozenRows(
      ({ deliveryId }) => deliveryId,
      ({ time }) => this.#from === null || time > this.#from || this.feed.found !== undefined,
    );
  }

  get rows(): readonly SidebarRow[] {
    return this.#rows.rows;
  }

  /** Number of dead letters that match the search. */
  count({ dead, totals }: Overview): number {
    if (this.search() === '') return Math.max(totals.dead, dead.length);
    return this.feed.found?.matches ?? dead.length;
  }

  /** True where more can be loaded than are listed. */
  get hasMore(): boolean {
    return this.feed.hasMore(this.#count);
  }

  /** @returns number of rows that wait to be shown */
  take(overview: Overview, hold: Holding, most: number): number {
    const { dead, from, totals } = overview;
    this.#from = from.dead;
    this.feed.look();
    const rows = this.feed.rows({ events: dead, from: from.dead });
    this.#count = this.count(overview);
    // During a search, the number that can be delivered again is known only after all were read.
    const retryable = this.feed.found?.retryable ?? rows.filter(({ canRetry }) => canRetry).length;
    this.bulk.counts = {
      retry: this.search() === '' ? totals.exhausted : retryable,
      discard: this.#count,
    };
    return this.#rows.take(rows, hold, most);
  }

  draw(): unknown {
    return this.#rows.draw((shown) => eventRow('dead', shown, this.parts, this.#below(shown)));
  }

  /** Why it is a dead letter, with its actions. */
  #below({ row }: ShownRow<SidebarRow>): TemplateResult {
    const { deliveryId, canRetry, why } = row;
    const text = why === undefined ? '' : said(why);
    const actions = DEAD_ACTIONS.filter((action) => action !== 'retry' || canRetry).map((action) => ({
      action,
      request: { path: 'dead-letters', body: { deliveryId, action } },
      canUndo: action === 'discard',
    }));
    const buttons = rowActions(deliveryId, actions, eventName(row), this.desk);
    return html`<div>
      <div class="rvm-quiet rvm-why" title=${text}>${text}</div>
      ${buttons}
    </div>`;
  }
}

type Action = (typeof DEAD_ACTIONS)[number];

/** Actions on all dead letters, or on all that match the search. */
class BulkActions {
  /** Number of dead letters that match the search, and of those that can be delivered again. */
  counts: Record<Action, number> = { retry: 0, discard: 0 };
  #progress = '';
  #isRunning = false;
  #isStopped = false;
  #isAtWork = false;

  constructor(
    private readonly desk: ListContext,
    private readonly search: () => string,
  ) {}

  draw(): TemplateResult {
    const stop = button(own('bulk.stop'), () => (this.#isStopped = true));
    const progress = html`<span role="status" class="rvm-quiet">${this.#progress}</span>`;
    const buttons = (['retry', 'discard'] as const).map((action) => this.#button(action));
    return html`<div class="rvm-bulk">${buttons}${progress}${this.#isRunning ? stop : nothing}</div>`;
  }

  #button(action: Action): unknown {
    const count = this.counts[action];
    // The button stays in place while at work: nothing moves under the pointer.
    if (!this.desk.mayAct || (count <= 1 && !this.#isAtWork)) return nothing;
    const text = own(`bulk.${action}`, { count: count.toLocaleString() });
    const options = { action: `${action}-all`, isDisabled: this.#isAtWork };
    return button(text, () => void this.#begin(action), options);
  }

  async #begin(action: Action): Promise<void> {
    if (this.#isAtWork) return;
    this.#isAtWork = true;
    try {
      await this.#run(action);
    } catch (failure) {
      notify(textOf(failure), { type: 'error' });
    } finally {
      [this.#isAtWork, this.#isRunning, this.#progress] = [false, false, ''];
      this.desk.draw();
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
    [this.#isStopped, this.#isRunning] = [false, true];
    const sum: ActedOn = { done: 0, failed: 0 };
    for (let at = 0; at < ids.length && !this.#isStopped; at += MOST_AT_ONCE) {
      const [before, count] = [at.toLocaleString(), ids.length.toLocaleString()];
      this.#progress = own('bulk.progress', { done: before, count });
      this.desk.draw();
      const deliveryIds = ids.slice(at, at + MOST_AT_ONCE);
      const { done, failed } = await post<ActedOn>(said, 'dead-letters', { action, deliveryIds });
      sum.done += done;
      sum.failed += failed;
      this.desk.stale();
    }
    return sum;
  }
}
