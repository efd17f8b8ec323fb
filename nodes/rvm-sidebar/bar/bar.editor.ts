import { own } from '../list/row.editor';

/** Where a chip leads. */
export type Part = 'hands' | 'events' | 'stations';

export interface BarOptions {
  search: (search: string) => void;
  go: (part: Part) => void;
  showNew: () => void;
}

export interface BarFigures {
  hands: number;
  /** As a text: there may be more. */
  events: string;
  stations: number;
  /** Of the stations. */
  troubled: number;
}

/** What somebody types is looked for once it rests for this long, in milliseconds. */
const REST = 250;

/** What stays at the top of the sidebar: how many there are of what, the way there, the filter, and what is new meanwhile. */
export class Bar {
  readonly element = $('<div class="rvm-top">');
  readonly #chips: Record<Part, JQuery>;
  readonly #filter = $('<input type="search" class="rvm-filter" autocomplete="off">');
  readonly #found = $('<div class="rvm-quiet rvm-found" role="status">').hide();
  readonly #new = $('<button type="button" class="rvm-new">').hide();
  readonly #newTold = $('<span class="rvm-told" role="status" aria-live="polite">');
  #timer: number | undefined;
  #searched = '';

  /** @param beside what stands beside the filter */
  constructor(
    private readonly options: BarOptions,
    beside: JQuery,
  ) {
    this.#chips = {
      hands: this.#chip('hands'),
      events: this.#chip('events'),
      stations: this.#chip('stations'),
    };
    this.#filter
      .attr({ placeholder: own('bar.filter'), 'aria-label': own('bar.filter'), title: own('bar.filter') })
      .on('input', () => this.#rest())
      .on('keydown', (event) => {
        if (event.key === 'Enter') this.#search();
        if (event.key !== 'Escape' || this.#filter.val() === '') return;
        event.stopPropagation();
        this.#filter.val('');
        this.#search();
      });
    this.#new.on('click', options.showNew);
    const chips = $('<div class="rvm-chips">').append(Object.values(this.#chips));
    const row = $('<div class="rvm-filter-row">').append(this.#filter, beside);
    this.element.append(chips, row, this.#found, this.#newTold, this.#new);
  }

  show({ hands, events, stations, troubled }: BarFigures): void {
    draw(this.#chips.hands, hands > 0 ? 'alarm' : 'good', own('bar.hands'), hands.toLocaleString());
    draw(this.#chips.events, '', own('events'), events);
    const text = stations.toLocaleString();
    draw(this.#chips.stations, troubled > 0 ? 'alarm' : '', own('bar.stations'), text, troubled);
  }

  /** What the filter has found; '' where there is none. */
  found(text: string): void {
    if (this.#found.text() !== text) this.#found.text(text);
    this.#found.toggle(text !== '');
  }

  /** @param isMany there may be more */
  waiting(count: number, isMany: boolean): void {
    const text = count === 0 ? '' : own('bar.new', { count: isMany ? `${count}+` : count });
    this.#new.toggle(count > 0);
    if (this.#new.text() === text) return;
    this.#new.text(text);
    this.#newTold.text(text);
  }

  #chip(part: Part): JQuery {
    return $('<button type="button" class="rvm-chip">')
      .attr('data-part', part)
      .on('click', () => this.options.go(part));
  }

  #rest(): void {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#search(), REST);
  }

  #search(): void {
    window.clearTimeout(this.#timer);
    const search = String(this.#filter.val()).trim();
    if (search === this.#searched) return;
    this.#searched = search;
    this.options.search(search);
  }
}

const FORMS: Readonly<Record<string, string>> = { alarm: 'fa-exclamation-triangle', good: 'fa-check-circle' };

/** Colour and form say the same. */
function draw(chip: JQuery, tone: 'alarm' | 'good' | '', name: string, figure: string, troubled = 0): void {
  const drawn = JSON.stringify([tone, name, figure, troubled]);
  if (chip.data('drawn') === drawn) return;
  const form = $('<i class="fa" aria-hidden="true">').addClass(FORMS[tone] ?? '');
  const trouble = troubled === 0 ? '' : own('bar.troubled', { count: troubled });
  const mark =
    troubled === 0
      ? $()
      : $('<b class="rvm-troubled">').append(form.clone(), document.createTextNode(` ${troubled}`));
  chip
    .data('drawn', drawn)
    .attr({
      'data-tone': tone,
      title: trouble,
      'aria-label': `${name} ${figure}${trouble === '' ? '' : `, ${trouble}`}`,
    })
    .empty()
    .append(troubled === 0 && tone !== '' ? form : $(), $('<span>').text(name), $('<b>').text(figure), mark);
}
