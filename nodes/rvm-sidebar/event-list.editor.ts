import { arrange } from './arrange.editor';
import { HistoryToggle } from './history-toggle.editor';
import { makeOpener } from './opener.editor';
import type { SidebarRow } from './overview';
import { linesOf, nothing, own, present, said } from './row.editor';
import type { Thumbnails } from './thumbnails.editor';

export interface EventListOptions {
  thumbnails: Thumbnails;
  /** Somebody wants to see the video of an event. */
  open: (row: SidebarRow, opener: HTMLElement) => void;
  /** What stands below an event; nothing unless said. */
  below?: (row: SidebarRow) => JQuery;
}

/** A list of events. A row stays the same element for as long as its event is listed, so that it keeps the focus. */
export class EventList {
  /** By delivery id. */
  readonly #rows = new Map<string, EventRow>();

  constructor(
    private readonly list: JQuery,
    private readonly options: EventListOptions,
  ) {}

  /** @param further what stands behind the events */
  show(rows: readonly SidebarRow[], ...further: JQuery[]): void {
    const ids = new Set(rows.map(({ deliveryId }) => deliveryId));
    for (const id of this.#rows.keys()) if (!ids.has(id)) this.#rows.delete(id);
    const shown = [...rows.map((row) => this.#rowOf(row).show(row)), ...further];
    arrange(this.list, shown.length > 0 ? shown : [nothing()]);
  }

  /** Histories that are open ask again. */
  look(): void {
    for (const row of this.#rows.values()) row.history.look();
  }

  #rowOf({ deliveryId }: SidebarRow): EventRow {
    const row = this.#rows.get(deliveryId) ?? new EventRow(deliveryId, this.options);
    this.#rows.set(deliveryId, row);
    return row;
  }
}

class EventRow {
  readonly #element = $('<div class="rvm-row">');
  readonly #facts = $('<div>');
  readonly #below = $('<div>');
  readonly history: HistoryToggle;
  #shown = '';
  #row: SidebarRow | undefined;

  constructor(
    deliveryId: string,
    private readonly options: EventListOptions,
  ) {
    this.history = new HistoryToggle(deliveryId);
    this.#element.append(this.#facts, this.#below, this.history.element);
  }

  show(row: SidebarRow): JQuery {
    const shown = JSON.stringify(row);
    if (shown === this.#shown) return this.#element;
    this.#shown = shown;
    this.#row = row;
    const { thumbnails, below } = this.options;
    this.#element.attr({ 'data-state': row.state, title: row.time });
    this.#facts.empty().append(thumbnails.of(row) ?? $(), eventLines(row));
    this.#below.empty().append(below?.(row) ?? $());
    this.history.look(0);
    if (row.hasVideo && !this.#facts.hasClass('rvm-opener')) this.#makeOpener();
    return this.#element;
  }

  #makeOpener(): void {
    makeOpener(this.#facts, own('show'), (opener) => {
      if (this.#row !== undefined) this.options.open(this.#row, opener);
    });
  }
}

/** What, where, and what becomes of it. */
export function eventTexts(row: SidebarRow): [what: string, where: string, quiet: string] {
  const { time, site, camera, rule, phase, state, proof, station, verdict } = row;
  const what = present([rule, phase === 'end' ? own('end') : null], ', ');
  const where = present([site, camera], ' · ');
  const at = new Date(time).toLocaleTimeString();
  const told = [proof && own(`proof.${proof}`), verdict && own(`verdict.${verdict}`)];
  const quiet = present([at, own(`state.${state}`), ...told.map((text) => text ?? null)], ' · ');
  return [what || station, where, quiet];
}

function eventLines(row: SidebarRow): JQuery[] {
  return linesOf(...eventTexts(row));
}

/** Why it is a dead letter. */
export function whyLine({ why }: SidebarRow): JQuery {
  return why === undefined ? $() : $('<div class="rvm-quiet">').text(said(why));
}
