import { ask, post, notify } from '../support/editor/requests';
import { SingleOpen } from './event-details.editor';
import { EventList, shownNumber, Thumbnails, totalText } from './event-list.editor';
import type { Overview } from './overview';
import {
  type ListContext,
  UndoableActions,
  UpdateFreeze,
  own,
  present,
  said,
  Section,
  textOf,
} from './rows.editor';
import './sidebar.css';
import { InstanceList, isTroubled, type OpenCamera, sayStatuses, StationList } from './stations.editor';
import { Tasks } from './tasks.editor';
import { VideoPanel } from './video.editor';

/** Target of a chip. */
type Part = 'hands' | 'events' | 'stations';

interface BarOptions {
  search: (search: string) => void;
  go: (part: Part) => void;
  showNew: () => void;
}

interface BarFigures {
  hands: number;
  /** A text, because there may be more. */
  events: string;
  stations: number;
  /** Number of stations with a trouble. */
  troubled: number;
}

/** Milliseconds without typing before the search starts. */
const REST = 250;

/** Fixed bar of the sidebar: counts that lead to their sections, the filter, and the number of new rows that wait. */
class Toolbar {
  readonly element = $('<div class="rvm-top">');
  readonly #chips: Record<Part, JQuery>;
  readonly #filter = $('<input type="search" class="rvm-filter" autocomplete="off">');
  readonly #found = $('<div class="rvm-quiet rvm-found" role="status">').hide();
  readonly #new = $('<button type="button" class="rvm-new">').hide();
  readonly #newTold = $('<span class="rvm-told" role="status" aria-live="polite">');
  #timer: number | undefined;
  #searched = '';

  /** @param beside element next to the filter */
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

  /** Shows the result of the search; '' hides it. */
  found(text: string): void {
    if (this.#found.text() !== text) this.#found.text(text);
    this.#found.toggle(text !== '');
  }

  /** @param isMany true where there may be more */
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

/** Shows the tone by colour and by symbol. */
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

/** Milliseconds between two requests for the overview while the sidebar is open. */
const EVERY = 1000;
/** From this number on, the overview may not contain all new rows. */
const MANY = 50;

/** The sidebar "Remote monitoring": tasks for a person, events, and stations. */
class Sidebar {
  /** Takes the focus from a row that was removed. */
  readonly content = $('<div class="rvm-sidebar" tabindex="-1">');
  readonly #fault = $('<div class="rvm-fault" role="status">');
  readonly #alarm = $('<button type="button" class="red-ui-button red-ui-button-small rvm-sandbox-alarm">');
  readonly #body = $('<div class="rvm-body">');
  readonly #thumbnails = new Thumbnails();
  readonly #panel = new VideoPanel(this.content);
  readonly #opened = new SingleOpen();
  readonly #bar = new Toolbar(
    {
      search: (search) => this.#setSearch(search),
      go: (part) => this.#go(part),
      showNew: () => this.#showNew(),
    },
    this.#alarm,
  );
  readonly #hold = new UpdateFreeze(this.content, this.#body, this.#bar.element);
  readonly #desk: ListContext = this.#newDesk();
  readonly #hands: Tasks;
  readonly #events: EventList;
  readonly #stations: StationList;
  readonly #instances = new Section('instances');
  readonly #instanceList = new InstanceList(this.#instances.list);
  #search = '';
  /** The newest overview, with its search text. */
  #known: { overview: Overview; search: string } | undefined;
  /** True while drawing at the user's request: no row is frozen then. */
  #isFree = false;
  #asking = false;

  constructor() {
    const rows = { thumbnails: this.#thumbnails, opened: this.#opened, hand: this.#desk };
    const search = (): string => this.#search;
    this.#stations = new StationList(this.#desk, this.#openCamera);
    this.#hands = new Tasks(this.#desk, { ...rows, search, accepted: () => this.#stations.refresh() });
    this.#events = new EventList(this.#desk, rows);
    this.#alarm.text(own('sandboxAlarm')).on('click', () => void this.#raise());
    const parts = [this.#events.section, this.#stations.section, this.#instances].map(
      ({ element }) => element,
    );
    this.#body.append(...this.#hands.elements, ...parts);
    this.#alarm.hide();
    this.content.append(this.#bar.element, this.#fault, this.#body);
    this.content.on('keydown', (event) => {
      if (event.key !== 'Escape') return;
      this.#panel.close();
      this.#opened.close();
    });
    setInterval(() => void this.#refresh(), EVERY);
  }

  #newDesk(): ListContext {
    const discards = new UndoableActions(({ path, body }) => this.#act(path, body));
    return {
      get mayAct() {
        return RED.user.hasPermission('rvm.write');
      },
      discards,
      act: (path, body) => this.#act(path, body),
      stale: () => this.#stale(),
      holdOf: (section) => (this.#isFree ? 'none' : this.#hold.of(section)),
      redraw: () => this.#redraw(),
    };
  }

  async #refresh(): Promise<void> {
    if (this.#asking || !this.content.is(':visible') || document.hidden) return;
    this.#asking = true;
    const search = this.#search;
    try {
      const data = search === '' ? {} : { search };
      const overview = await ask<Overview>(said, { url: 'rvm/overview', data });
      if (search === this.#search) await this.#take(overview);
    } catch (failure) {
      this.#fault.text(textOf(failure));
    } finally {
      this.#asking = false;
    }
    if (search !== this.#search) await this.#refresh();
  }

  /** Redraws all for the first overview, and for the first after a new search: the user waits for it. */
  async #take(overview: Overview): Promise<void> {
    const isAwaited = this.#known?.search !== this.#search;
    this.#known = { overview, search: this.#search };
    if (isAwaited) this.#redraw();
    else this.#show(overview);
    await this.#tellSeen(overview);
  }

  /**
   * Reports problems as seen only where a user is present and the rows are in sight: not from a background window, from a wall
   * display without permission to act, or while the rows are scrolled away.
   */
  async #tellSeen({ hasUnseen, lastProblem }: Overview): Promise<void> {
    if (!hasUnseen || !document.hasFocus() || !this.#desk.mayAct) return;
    if (this.#hands.areProblemsInSight) await post(said, 'problems-seen', { lastProblem });
  }

  #show(overview: Overview): void {
    const { stations, totals, fault, incident, isCut, sharing } = overview;
    const failing = fault === null ? '' : own(isCut ? 'cut' : 'notDurable', { reason: fault });
    this.#fault.text([failing, incident ?? ''].join(' ').trim());
    this.#alarm.toggle(this.#desk.mayAct && stations.some(({ isSandbox }) => isSandbox));
    const waiting =
      this.#hands.show(overview) + this.#events.show(overview) + this.#stations.show(overview, this.#search);
    this.#thumbnails.forgetAllBut([...this.#events.shown, ...this.#hands.dead]);
    this.#instanceList.show(sharing);
    this.#instances.toggle(sharing.length > 0);
    this.#bar.show({
      hands: this.#hands.count(overview),
      events: totalText(totals.events, totals.isCut),
      stations: stations.length,
      troubled: stations.filter(isTroubled).length,
    });
    this.#bar.waiting(waiting, waiting >= MANY);
    this.#bar.found(this.#foundText(overview));
  }

  /** Skipped while the result of a new search is pending: an old one must not be drawn. */
  #redraw(): void {
    if (this.#known?.search !== this.#search) return;
    this.#isFree = true;
    try {
      this.#show(this.#known.overview);
    } finally {
      this.#isFree = false;
    }
  }

  #foundText({ totals }: Overview): string {
    if (this.#search === '') return '';
    const { found, fault } = this.#events.feed;
    if (fault !== '') return fault;
    if (found === undefined) return '…';
    const count = shownNumber(found.matches ?? 0);
    return found.isCut
      ? own('bar.matchesOfNewest', { count, total: shownNumber(found.looked) })
      : own('bar.matches', { count, total: totalText(totals.events, totals.isCut) });
  }

  #setSearch(search: string): void {
    this.#search = search;
    this.#events.feed.search(search);
    this.#hands.search(search);
    void this.#refresh();
  }

  /** Scrolls to the first row of a part, below the fixed bar. */
  #go(part: Part): void {
    const parts = { events: this.#events.section.element, stations: this.#stations.section.element };
    const [element] = part === 'hands' ? [] : parts[part].get();
    const [[content], [bar]] = [this.content.get(), this.#bar.element.get()];
    if (content === undefined || bar === undefined) return;
    const above = bar.getBoundingClientRect().bottom;
    content.scrollTop =
      element === undefined ? 0 : content.scrollTop + element.getBoundingClientRect().top - above;
    const section = part === 'hands' ? this.#body.find('section:visible').first() : parts[part];
    section.find('h3').get(0)?.focus({ preventScroll: true });
  }

  /** Shows the rows that were waiting, and scrolls to them. */
  #showNew(): void {
    this.#go('hands');
    this.#redraw();
  }

  readonly #openCamera: OpenCamera = ({ key, name }, camera, opener) => {
    const texts = [
      camera.name || camera.id,
      present([camera.site, name || key], ' · '),
      camera.status,
    ] as const;
    this.#panel.toggle({ wanted: { station: key, camera: camera.id }, texts, opener });
  };

  async #raise(): Promise<void> {
    const answer = await this.#act('sandbox-alarms', {});
    if (answer !== undefined) notify(own('raised'), { timeout: 2000 });
  }

  #stale(): void {
    this.#hands.stale();
    this.#events.feed.stale();
  }

  /** Resolves with undefined after a failure, which is reported to the user. */
  async #act<Answer>(path: string, body: object): Promise<Answer | undefined> {
    try {
      const answer = await post<Answer>(said, path, body);
      this.#stale();
      await this.#refresh();
      return answer;
    } catch (failure) {
      notify(textOf(failure), { type: 'error' });
      return undefined;
    }
  }
}

RED.plugins.registerPlugin('rvm-sidebar', {
  type: 'rvm-sidebar',
  onadd() {
    sayStatuses();
    const { content } = new Sidebar();
    RED.sidebar.addTab({
      id: 'rvm-sidebar',
      label: own('label'),
      name: own('name'),
      content,
      iconClass: 'fa fa-bell',
      enableOnEdit: true,
    });
  },
});
