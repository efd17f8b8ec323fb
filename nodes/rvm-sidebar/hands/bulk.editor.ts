import { ask, post, tell } from '../../support/editor/requests';
import { askFirst } from '../list/ask-first.editor';
import type { Desk } from '../list/desk.editor';
import { own, said, textOf } from '../list/row.editor';
import { MOST_AT_ONCE, type ActedOn, type DEAD_ACTIONS, type DeadLetters } from '../overview';

type Action = (typeof DEAD_ACTIONS)[number];

/** How many dead letters there are that match what is looked for, and how many of them can be delivered again. */
export interface BulkCounts {
  retry: number;
  discard: number;
}

/** What can be done with all dead letters, or with all that match what is looked for. */
export class Bulk {
  readonly element = $('<div class="rvm-bulk">');
  readonly #buttons: Record<Action, JQuery>;
  readonly #progress = $('<span role="status" class="rvm-quiet">');
  readonly #stop = $('<button type="button" class="red-ui-button red-ui-button-small">');
  #isStopped = false;
  #isAtWork = false;

  /** @param search what is looked for; '' where nothing is */
  constructor(
    private readonly desk: Desk,
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
    if (ids.length === 0 || !(await askFirst(question, own(`bulk.${action}`, { count })))) return;
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
