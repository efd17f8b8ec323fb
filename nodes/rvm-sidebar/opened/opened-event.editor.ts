import './opened-event.css';
import { ask } from '../../support/editor/requests';
import { nothing, own, said, textOf } from '../list/row.editor';
import type { EventHistory, SidebarRow } from '../overview';
import { copyableIds } from './copyable-ids.editor';
import { deliverAgain, type Hand } from './deliver-again.editor';
import { EventVideo } from './event-video.editor';
import { factsOf, reasonOf } from './facts.editor';
import { openInListEvents } from './list-events-flow.editor';
import { timeline } from './timeline.editor';

/** Between two questions for the history, in milliseconds: it grows by what shows nowhere else. */
const EVERY = 3000;
/** Between two looks whether the row is still listed, in milliseconds. */
const LOOK = 500;

export interface OpenedOptions {
  hand: Hand;
  /** True where what can be done with the event stands in its row already. */
  hasActions: boolean;
  /** By which people know the event. */
  name: string;
  /** Called when the row is listed no more. */
  lost: () => void;
}

/** All about one event, below its row for as long as that is open. */
export class OpenedEvent {
  readonly element = $('<div class="rvm-opened" role="region" tabindex="-1">');
  readonly #video: EventVideo | undefined;
  readonly #reason = $('<div class="rvm-reason">');
  readonly #again = $('<div>');
  readonly #history = $('<div>');
  readonly #facts = $('<div>');
  readonly #ids = $('<div>');
  readonly #timer: number;
  readonly #drawn = new Map<JQuery, string>();
  #row: SidebarRow;
  #camera: EventHistory['camera'] = { id: null, remoteId: null };
  #webhook: EventHistory['webhook'] = null;
  #askedAt = -Infinity;
  #asking = false;

  constructor(
    row: SidebarRow,
    private readonly options: OpenedOptions,
  ) {
    const { name } = options;
    this.#row = row;
    this.element.attr('aria-label', name);
    if (row.hasVideo) this.#video = new EventVideo(row.deliveryId, name);
    const video = this.#video?.element ?? $('<div class="rvm-quiet">').text(own('opened.noVideo'));
    const actions = $('<div class="rvm-opened-actions">').append(this.#again, this.#listButton(name));
    this.element.append(video, this.#reason, actions, heading('history'), this.#history);
    this.element.append(heading('opened.about'), this.#facts, this.#ids);
    this.#timer = window.setInterval(() => this.#look(), LOOK);
    this.show(row);
    void this.#ask();
  }

  /** What of it may have changed. */
  show(row: SidebarRow): void {
    this.#row = row;
    const { hand, hasActions, name } = this.options;
    const reason = reasonOf(row);
    this.#draw(this.#reason, reason, () => $('<span>').text(reason));
    this.#showFacts();
    if (!hasActions) this.#draw(this.#again, [row.state, row.canRetry], () => deliverAgain(row, name, hand));
    // What has changed may be a step of its history.
    this.#askedAt = -Infinity;
  }

  close(): void {
    window.clearInterval(this.#timer);
    this.#video?.close();
    this.element.remove();
  }

  #listButton(name: string): JQuery {
    if (!RED.user.hasPermission('flows.write')) return $();
    return $('<button type="button" class="red-ui-button red-ui-button-small" data-action="list">')
      .text(own('opened.list.open'))
      .attr('aria-label', `${own('opened.list.open')}: ${name}`)
      .on('click', () => openInListEvents(this.#row, name));
  }

  #showFacts(): void {
    const [row, webhook] = [this.#row, this.#webhook];
    this.#draw(this.#facts, [row, webhook], () => factsOf(row, webhook));
    const { alarmId, messageId, deliveryId } = row;
    const ids = [
      ['alarm', alarmId],
      ['message', messageId],
      ['delivery', deliveryId],
      ['camera', this.#camera.id],
      ['remoteCamera', this.#camera.remoteId],
    ] as const;
    this.#draw(this.#ids, ids, () => copyableIds(ids));
  }

  #look(): void {
    if (!this.element[0]?.isConnected) return this.options.lost();
    const isDue = performance.now() - this.#askedAt >= EVERY;
    if (isDue && !this.#asking && !document.hidden && this.element.is(':visible')) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    try {
      const data = { deliveryId: this.#row.deliveryId };
      const { history, camera, webhook } = await ask<EventHistory>(said, { url: 'rvm/history', data });
      [this.#camera, this.#webhook] = [camera, webhook];
      this.#showFacts();
      this.#draw(this.#history, history, () => (history.length > 0 ? timeline(history) : nothing()));
    } catch (failure) {
      const reason = textOf(failure);
      this.#draw(this.#history, reason, () => $('<div class="rvm-quiet" role="status">').text(reason));
    } finally {
      this.#asking = false;
      this.#askedAt = performance.now();
    }
  }

  /** Nothing that is the same is drawn again under the pointer. */
  #draw(place: JQuery, of: unknown, draw: () => JQuery): void {
    const shown = JSON.stringify(of);
    if (this.#drawn.get(place) === shown) return;
    this.#drawn.set(place, shown);
    const hadFocus = place.is(':focus-within');
    place.empty().append(draw());
    if (hadFocus) (place.find('button').get(0) ?? this.element.get(0))?.focus({ preventScroll: true });
  }
}

function heading(key: string): JQuery {
  return $('<h4>').text(own(key));
}
