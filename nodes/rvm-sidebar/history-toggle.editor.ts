import { ask } from '../support/editor/ask';
import type { EventHistory } from './overview';
import { nothing, own, said, textOf } from './row.editor';
import { timeline } from './timeline.editor';

/** Between two questions for a history that is open, in milliseconds: it grows by what shows nowhere else. */
const EVERY = 3000;

/** The history of an event, below its row, asked for while it is open. */
export class HistoryToggle {
  readonly element = $('<details class="rvm-history">');
  readonly #place = $('<div>');
  #shown = '';
  #askedAt = -Infinity;
  #asking = false;

  constructor(private readonly deliveryId: string) {
    this.element.append($('<summary>').text(own('history')), this.#place);
    this.element.on('toggle', () => this.look(0));
  }

  /** Asks anew where it is open, unless it has only just been asked. */
  look(every = EVERY): void {
    const isDue = performance.now() - this.#askedAt >= every;
    if (isDue && !this.#asking && this.element.prop('open') === true) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    try {
      const data = { deliveryId: this.deliveryId };
      const { history } = await ask<EventHistory>(said, { url: 'rvm/history', data });
      this.#show(JSON.stringify(history), () => (history.length > 0 ? timeline(history) : nothing()));
    } catch (failure) {
      const reason = textOf(failure);
      this.#show(reason, () => $('<div class="rvm-quiet" role="status">').text(reason));
    } finally {
      this.#asking = false;
      this.#askedAt = performance.now();
    }
  }

  /** Nothing that is the same is drawn again under the pointer. */
  #show(what: string, draw: () => JQuery): void {
    if (what === this.#shown) return;
    this.#shown = what;
    this.#place.empty().append(draw());
  }
}
