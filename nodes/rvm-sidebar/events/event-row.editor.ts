import type { RowView } from '../list/row-list.editor';
import { linesOf, own, present } from '../list/row.editor';
import { makeOpener } from '../list/opener.editor';
import { scrollToSee } from '../list/scroll-to-see.editor';
import type { Hand } from '../opened/deliver-again.editor';
import type { OneAtATime } from '../opened/one-at-a-time.editor';
import { OpenedEvent } from '../opened/opened-event.editor';
import type { SidebarRow } from '../overview';
import type { Thumbnails } from './thumbnails.editor';

export interface EventRowOptions {
  thumbnails: Thumbnails;
  /** Which row of all lists is open. */
  opened: OneAtATime;
  hand: Hand;
  /** What stands below an event, made once for each; nothing unless said. */
  below?: (row: SidebarRow) => RowView<SidebarRow>;
}

/** One event of a list: what of it shows, and what is opened from it. */
export class EventRow {
  readonly #element = $('<div class="rvm-row">');
  readonly #facts = $('<div>');
  #below: RowView<SidebarRow> | undefined;
  #opened: OpenedEvent | undefined;
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
    this.#opened = new OpenedEvent(row, { hand, hasActions, name: eventName(row), lost: this.#close });
    this.#element.append(this.#opened.element);
    this.#facts.attr('aria-expanded', 'true');
    scrollToSee(this.#element);
  }

  /** The focus goes back to what opened it, where it was in what closes. */
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

/** What, where, and what becomes of it. */
export function eventTexts(row: SidebarRow): [what: string, where: string, quiet: string] {
  const { time, site, camera, rule, phase, state, proof, station, verdict } = row;
  const what = present([rule, phase === 'end' ? own('end') : null], ', ');
  // Where the line is too short, the site is what can be missed.
  const where = present([camera, site], ' · ');
  const at = new Date(time).toLocaleTimeString();
  const told = [proof && own(`proof.${proof}`), verdict && own(`verdict.${verdict}`)];
  const quiet = present([at, own(`state.${state}`), ...told.map((text) => text ?? null)], ' · ');
  return [what || station, where, quiet];
}

function eventLines(row: SidebarRow): JQuery[] {
  return linesOf(...eventTexts(row));
}

/** By which people know an event where there is one line for it, or none. */
export function eventName(row: SidebarRow): string {
  const [what, where] = eventTexts(row);
  return present([what, where, new Date(row.time).toLocaleTimeString()], ', ');
}
