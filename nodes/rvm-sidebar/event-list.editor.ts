import { html, nothing, type TemplateResult } from 'lit/html.js';
import { ask } from '../support/editor/requests';
import type { OpenEvent } from './event-details.editor';
import { EventFeed, type FeedOptions, PAGE } from './event-feed';
import type { FoundEvents, Overview, Picture, SidebarRow } from './overview';
import {
  FrozenRows,
  type ListContext,
  linesOf,
  opener,
  own,
  present,
  rowAround,
  said,
  scrollToSee,
  section,
  type ShownRow,
} from './rows.editor';

export class EventList {
  readonly feed: EventFeed;
  // Events are not removed; newer ones only take their place.
  readonly #rows = new FrozenRows<SidebarRow>(
    ({ deliveryId }) => deliveryId,
    () => false,
  );
  #isPartial = false;
  #count = '';
  #more = '';

  constructor(
    private readonly desk: ListContext,
    private readonly parts: EventParts,
  ) {
    this.feed = newFeed('all', () => desk.redraw());
  }

  get rows(): readonly SidebarRow[] {
    return this.#rows.rows;
  }

  /** @returns number of rows that wait to be shown */
  take({ events, from, totals, isPartial }: Overview): number {
    this.feed.look();
    const rows = this.feed.rows({ events, from: from.events });
    const hold = this.desk.holdOf('events');
    if (hold !== 'all') this.#isPartial = isPartial;
    const { received = 0, leased = 0, filtered = 0 } = totals.byState;
    const open = received + leased;
    const parts = [
      totalText(totals.events, totals.isCut),
      open > 0 ? own('bar.open', { count: shownNumber(open) }) : null,
      filtered > 0 ? own('bar.filtered', { count: shownNumber(filtered) }) : null,
    ];
    this.#count = present(parts, ' · ');
    const hasMore = this.feed.hasMore(this.feed.found?.matches ?? totals.events) && rows.length >= PAGE;
    this.#more = hasMore ? own('bar.more') : '';
    return this.#rows.take(rows, hold);
  }

  draw(): TemplateResult {
    const further = this.#isPartial ? html`<div class="rvm-quiet">${own('partial')}</div>` : undefined;
    const list = this.#rows.draw((shown) => eventRow('events', shown, this.parts), further);
    const unfold = (): void => {
      this.feed.more();
      this.desk.redraw();
    };
    return section({ name: 'events', count: this.#count, list, more: this.#more, unfold });
  }
}

/** In the number format of the browser. */
export function shownNumber(count: number): string {
  return count.toLocaleString();
}

/** @param isCut true where there are more */
export function totalText(count: number, isCut: boolean): string {
  return isCut ? `${shownNumber(count)}+` : shownNumber(count);
}

/** A list of events that is loaded from the runtime. */
export function newFeed(state: FeedOptions['state'], changed: FeedOptions['changed']): EventFeed {
  return new EventFeed({
    state,
    changed,
    ask: (data) => ask<FoundEvents>(said, { url: 'rvm/events', data }),
  });
}

/** What the rows of all lists of events share. */
export interface EventParts {
  thumbnails: Thumbnails;
  opened: OpenEvent;
}

/** Key of a row among those of all lists. */
export function eventKey(list: 'events' | 'dead', { deliveryId }: SidebarRow): string {
  return `${list} ${deliveryId}`;
}

/**
 * Row of one event, with its details when open.
 * @param below the part below the event, with its actions
 */
export function eventRow(
  list: 'events' | 'dead',
  { row, isGone }: ShownRow<SidebarRow>,
  { thumbnails, opened }: EventParts,
  below?: TemplateResult,
): TemplateResult {
  const key = eventKey(list, row);
  const texts = eventTexts(row);
  const toggle = (facts: HTMLElement): void => {
    opened.toggle(key, row, eventName(row));
    if (opened.has(key) && facts.parentElement !== null) scrollToSee(facts.parentElement);
  };
  const lines = html`${thumbnails.of(row)}${linesOf(...texts)}`;
  const facts = opener(lines, own('show'), toggle, { isOpen: opened.has(key) });
  const details = opened.draw(key, row, below !== undefined);
  const title = present([texts[0], texts[1], row.time], '\n');
  return rowAround(isGone, html`${facts}${below ?? nothing}${details}`, { title, state: row.state });
}

/** Texts of an event: what, where, and its state. */
function eventTexts(row: SidebarRow): [what: string, where: string, quiet: string] {
  const { time, site, camera, rule, phase, state, proof, station, verdict } = row;
  const what = present([rule, phase === 'end' ? own('end') : null], ', ');
  // The site is last, because a short line cuts the end.
  const where = present([camera, site], ' · ');
  const at = new Date(time).toLocaleTimeString();
  const parts = [proof && own(`proof.${proof}`), verdict && own(`verdict.${verdict}`)];
  const quiet = present([at, own(`state.${state}`), ...parts.map((text) => text ?? null)], ' · ');
  return [what || station, where, quiet];
}

/** Name of an event where one line, or only a label, is available. */
export function eventName(row: SidebarRow): string {
  const [what, where] = eventTexts(row);
  return present([what, where, new Date(row.time).toLocaleTimeString()], ', ');
}

/** Thumbnails of events, each requested once. */
export class Thumbnails {
  /** By picture kind and delivery id: data URLs; '' while it is awaited, undefined where there is none. */
  readonly #known = new Map<string, string | undefined>();

  constructor(private readonly changed: () => void) {}

  /** An image element that loads its picture; nothing where there is none. */
  of({ deliveryId, picture }: SidebarRow): unknown {
    if (picture === null) return nothing;
    const name = `${picture} ${deliveryId}`;
    if (!this.#known.has(name)) void this.#load(name, deliveryId);
    const url = this.#known.get(name);
    return url === undefined ? nothing : html`<img class="rvm-thumbnail" alt="" src=${url || nothing} />`;
  }

  forgetAllBut(rows: readonly SidebarRow[]): void {
    const shown = new Set(rows.map(({ picture, deliveryId }) => `${picture} ${deliveryId}`));
    for (const name of this.#known.keys()) if (!shown.has(name)) this.#known.delete(name);
  }

  async #load(name: string, deliveryId: string): Promise<void> {
    this.#known.set(name, '');
    const url = await pictureOf(deliveryId).catch(() => undefined);
    if (!this.#known.has(name)) return;
    this.#known.set(name, url);
    this.changed();
  }
}

/** Loaded by a request with the login of the user, which the URL of an image could not carry. */
async function pictureOf(deliveryId: string): Promise<string | undefined> {
  const { jpeg } = await ask<Picture>(said, { url: 'rvm/picture', data: { deliveryId } });
  return jpeg === null ? undefined : `data:image/jpeg;base64,${jpeg}`;
}
