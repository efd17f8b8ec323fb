import { ask, AskError } from '../support/editor/requests';
import { type Hand, type SingleOpen, EventDetails } from './event-details.editor';
import { EventFeed, type FeedOptions, PAGE } from './event-feed';
import type { FoundEvents, Overview, Picture, SidebarRow } from './overview';
import {
  type ListContext,
  linesOf,
  makeOpener,
  own,
  present,
  RowList,
  type RowView,
  said,
  scrollToSee,
  Section,
  textOf,
} from './rows.editor';

export class EventList {
  readonly section: Section;
  readonly feed: EventFeed;
  readonly #rows: RowList<SidebarRow, EventRow>;
  #shown: readonly SidebarRow[] = [];

  constructor(
    private readonly desk: ListContext,
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
      // Events are not removed; newer ones only take their place.
      isGone: () => false,
    });
  }

  /** @returns number of rows that wait to be shown */
  show({ events, from, totals, isPartial }: Overview): number {
    this.feed.look();
    this.#shown = this.feed.rows({ events, from: from.events });
    const further = isPartial ? [$('<div class="rvm-quiet">').text(own('partial'))] : [];
    const hold = this.desk.holdOf(this.section.element);
    const waiting = this.#rows.show(this.#shown, { hold, further });
    this.#showTotals(totals);
    return waiting;
  }

  get shown(): readonly SidebarRow[] {
    return this.#shown;
  }

  #showTotals({ events, isCut, byState }: Overview['totals']): void {
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
    faultOf: textOf,
  });
}

export interface EventRowOptions {
  thumbnails: Thumbnails;
  /** Ensures that one row of all lists is open. */
  opened: SingleOpen;
  hand: Hand;
  /** Creates the part below an event, once per row; none by default. */
  below?: (row: SidebarRow) => RowView<SidebarRow>;
}

/** Row of one event, with its details when open. */
export class EventRow {
  readonly #element = $('<div class="rvm-row">');
  readonly #facts = $('<div>');
  #below: RowView<SidebarRow> | undefined;
  #opened: EventDetails | undefined;
  #shown = '';
  #row: SidebarRow | undefined;

  constructor(private readonly options: EventRowOptions) {
    makeOpener(this.#facts, own('show'), () => this.#toggle(), 'below');
    this.#element.append(this.#facts).on('keydown', (event) => {
      if (event.key !== 'Escape' || this.#opened === undefined) return;
      event.stopPropagation();
      this.#close();
    });
  }

  show(row: SidebarRow): JQuery {
    this.#showBelow(row);
    const shown = JSON.stringify(row);
    if (shown === this.#shown) return this.#element;
    this.#shown = shown;
    this.#row = row;
    const { thumbnails } = this.options;
    const [what, where] = eventTexts(row);
    this.#element.attr({ 'data-state': row.state, title: present([what, where, row.time], '\n') });
    this.#facts.empty().append(thumbnails.of(row) ?? $(), eventLines(row));
    this.#opened?.show(row);
    return this.#element;
  }

  #showBelow(row: SidebarRow): void {
    const { below } = this.options;
    if (below === undefined) return;
    if (this.#below === undefined) {
      this.#below = below(row);
      this.#facts.after(this.#below.show(row));
    } else this.#below.show(row);
  }

  #toggle(): void {
    if (this.#opened !== undefined) this.#close();
    else if (this.#row !== undefined) this.#open(this.#row);
  }

  #open(row: SidebarRow): void {
    const { opened, hand, below } = this.options;
    opened.opens(this.#close);
    const hasActions = below !== undefined;
    this.#opened = new EventDetails(row, { hand, hasActions, name: eventName(row), lost: this.#close });
    this.#element.append(this.#opened.element);
    this.#facts.attr('aria-expanded', 'true');
    scrollToSee(this.#element);
  }

  /** If the focus was in the closed part, it returns to the element that opened that. */
  readonly #close = (): void => {
    const opened = this.#opened;
    if (opened === undefined) return;
    this.#opened = undefined;
    const hadFocus = opened.element.is(':focus-within');
    opened.close();
    this.#facts.attr('aria-expanded', 'false');
    if (hadFocus) this.#facts.get(0)?.focus({ preventScroll: true });
  };
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

function eventLines(row: SidebarRow): JQuery[] {
  return linesOf(...eventTexts(row));
}

/** Name of an event where one line, or only a label, is available. */
export function eventName(row: SidebarRow): string {
  const [what, where] = eventTexts(row);
  return present([what, where, new Date(row.time).toLocaleTimeString()], ', ');
}

/** Thumbnails of events, each requested once. */
export class Thumbnails {
  /** Data URLs by picture kind and delivery id. */
  readonly #known = new Map<string, Promise<string>>();

  /** An image element that loads its picture; undefined where there is none. */
  of({ deliveryId, picture }: SidebarRow): JQuery | undefined {
    if (picture === null) return undefined;
    const image = $('<img class="rvm-thumbnail" alt="">');
    this.#urlOf(`${picture} ${deliveryId}`, deliveryId).then(
      (url) => image.attr('src', url),
      () => image.remove(),
    );
    return image;
  }

  forgetAllBut(rows: readonly SidebarRow[]): void {
    const shown = new Set(rows.map(({ picture, deliveryId }) => `${picture} ${deliveryId}`));
    for (const name of this.#known.keys()) if (!shown.has(name)) this.#known.delete(name);
  }

  #urlOf(name: string, deliveryId: string): Promise<string> {
    const known = this.#known.get(name) ?? pictureOf(deliveryId);
    this.#known.set(name, known);
    return known;
  }
}

/** Loaded by a request with the login of the user, which the URL of an image could not carry. */
async function pictureOf(deliveryId: string): Promise<string> {
  const { jpeg } = await ask<Picture>(said, { url: 'rvm/picture', data: { deliveryId } });
  if (jpeg === null) throw new AskError('gone');
  return `data:image/jpeg;base64,${jpeg}`;
}
