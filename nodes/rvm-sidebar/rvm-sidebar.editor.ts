import { html, nothing, render, type TemplateResult } from 'lit/html.js';
import { ask, post, notify } from '../support/editor/requests';
import { OpenEvent } from './event-details.editor';
import type { EventFeed } from './event-feed';
import { eventKey, EventList, shownNumber, Thumbnails, totalText } from './event-list.editor';
import { LONGEST_PAUSE, NEWS_TOPIC, type Overview } from './overview';
import {
  button,
  drawKeepingFocus,
  keepFromGone,
  type ListContext,
  own,
  present,
  said,
  shownSection,
  textOf,
  UndoableActions,
  UpdateFreeze,
} from './rows.editor';
import './sidebar.css';
import { instanceList, isTroubled, type OpenCamera, sayStatuses, StationList } from './stations.editor';
import { Tasks } from './tasks.editor';
import { VideoPanel } from './video.editor';

/** Milliseconds without typing before the search starts. */
const REST = 250;

/** The filter: what is typed is searched for after a rest, or at once by Enter. */
class Filter {
  search = '';
  #timer: number | undefined;

  /** @param changed called where other words are searched for */
  constructor(private readonly changed: () => void) {}

  draw(): TemplateResult {
    const text = own('bar.filter');
    const rest = ({ target }: Event): void => {
      window.clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.#take(target as HTMLInputElement), REST);
    };
    const byKey = (event: KeyboardEvent): void => {
      const field = event.target as HTMLInputElement;
      if (event.key === 'Enter') this.#take(field);
      if (event.key !== 'Escape' || field.value === '') return;
      event.stopPropagation();
      field.value = '';
      this.#take(field);
    };
    return html`<input
      type="search"
      class="rvm-filter"
      autocomplete="off"
      placeholder=${text}
      aria-label=${text}
      title=${text}
      @input=${rest}
      @keydown=${byKey}
    />`;
  }

  #take({ value }: HTMLInputElement): void {
    window.clearTimeout(this.#timer);
    if (value.trim() === this.search) return;
    this.search = value.trim();
    this.changed();
  }
}

/** Target of a chip: all tasks, or a section. */
type Part = 'hands' | 'events' | 'stations';

const FORMS: Readonly<Record<string, string>> = { alarm: 'fa-exclamation-triangle', good: 'fa-check-circle' };

/** Milliseconds between two looks at whether something is to be asked for, or may be shown now. */
const EVERY = 1000;
/** From this number on, the overview may not contain all new rows. */
const MANY = 50;

/** The sidebar "Remote monitoring": tasks for a person, events, and stations. */
class Sidebar {
  readonly content = document.createElement('div');
  readonly #filter = new Filter(() => this.#searched());
  readonly #thumbnails = new Thumbnails(() => this.#draw());
  readonly #panel = new VideoPanel(this.content);
  readonly #freeze = new UpdateFreeze(this.content);
  readonly #desk: ListContext = this.#newDesk();
  readonly #opened = new OpenEvent(this.#desk);
  readonly #tasks: Tasks;
  readonly #events: EventList;
  readonly #stations: StationList;
  /** The newest overview, with its search text. */
  #known: { overview: Overview; search: string } | undefined;
  #fault = '';
  /** Number of rows that wait to be shown. */
  #waiting = 0;
  /** True while drawing at the user's request: no row is frozen then. */
  #isFree = false;
  /** True where a list was frozen when it was last updated. */
  #wasFrozen = false;
  #asking = false;
  /** True where the runtime has told that something has changed. */
  #hasNews = true;
  #askedAt = -Infinity;

  constructor() {
    // It takes the focus from a row that was removed.
    this.content.tabIndex = -1;
    this.content.className = 'rvm-sidebar';
    const parts = { thumbnails: this.#thumbnails, opened: this.#opened };
    const search = (): string => this.#filter.search;
    this.#stations = new StationList(this.#desk, this.#openCamera);
    this.#tasks = new Tasks(this.#desk, { ...parts, search, accepted: () => this.#stations.refresh() });
    this.#events = new EventList(this.#desk, parts);
    for (const name of ['click', 'keydown']) this.content.addEventListener(name, keepFromGone, true);
    this.content.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      const isOfEvent = event.target instanceof Element && event.target.closest('.rvm-row:has(.rvm-opened)');
      if (isOfEvent) event.stopPropagation();
      else this.#panel.close();
      this.#opened.close();
    });
    this.#draw();
    RED.comms.subscribe(NEWS_TOPIC, () => {
      this.#hasNews = true;
      void this.#refresh();
    });
    setInterval(() => this.#look(), EVERY);
  }

  #newDesk(): ListContext {
    const discards = new UndoableActions(
      ({ path, body }) => this.#act(path, body),
      () => this.#draw(),
    );
    return {
      get mayAct() {
        return RED.user.hasPermission('rvm.write');
      },
      discards,
      act: (path, body) => this.#act(path, body),
      stale: () => this.#stale(),
      holdOf: (name) => {
        const hold = this.#isFree ? 'none' : this.#freeze.of(name);
        this.#wasFrozen ||= hold !== 'none';
        return hold;
      },
      draw: () => this.#draw(),
      redraw: () => this.#redraw(),
    };
  }

  get #feeds(): EventFeed[] {
    return [this.#events.feed, this.#tasks.dead.feed];
  }

  get #isSeen(): boolean {
    return $(this.content).is(':visible') && !document.hidden;
  }

  /** The runtime tells of what is new; where it cannot, the sidebar asks by itself, though seldom. */
  #look(): void {
    if (!this.#isSeen) return;
    const isLong = performance.now() - this.#askedAt >= LONGEST_PAUSE;
    if (this.#hasNews || isLong || this.#isSeenFirst) return void this.#refresh();
    if (this.#known?.search !== this.#filter.search) return;
    for (const feed of this.#feeds) feed.look();
    if (this.#wasFrozen) this.#show(this.#known.overview);
  }

  async #refresh(): Promise<void> {
    if (this.#asking || !this.#isSeen) return;
    this.#asking = true;
    this.#hasNews = false;
    this.#askedAt = performance.now();
    const { search } = this.#filter;
    try {
      const data = search === '' ? {} : { search };
      const overview = await ask<Overview>(said, { url: 'rvm/overview', data });
      for (const feed of this.#feeds) feed.outdated();
      if (search === this.#filter.search) await this.#take(overview);
    } catch (failure) {
      this.#fault = textOf(failure);
      this.#hasNews = true;
      this.#draw();
    } finally {
      this.#asking = false;
    }
    if (search !== this.#filter.search) await this.#refresh();
  }

  /** Redraws all for the first overview, and for the first after a new search: the user waits for it. */
  async #take(overview: Overview): Promise<void> {
    const { search } = this.#filter;
    const isAwaited = this.#known?.search !== search;
    this.#known = { overview, search };
    if (isAwaited) this.#redraw();
    else this.#show(overview);
    if (this.#isSeenFirst) await post(said, 'problems-seen', { lastProblem: overview.lastProblem });
  }

  /**
   * True where problems are seen that nobody has seen. That takes a user who is present and rows in sight: not a background
   * window, a wall display without permission to act, or rows that are scrolled away.
   */
  get #isSeenFirst(): boolean {
    if (this.#known?.overview.hasUnseen !== true || !document.hasFocus()) return false;
    return this.#desk.mayAct && this.#tasks.areProblemsInSight;
  }

  #show(overview: Overview): void {
    const { fault, incident, isCut } = overview;
    const failing = fault === null ? '' : own(isCut ? 'cut' : 'notDurable', { reason: fault });
    this.#fault = [failing, incident ?? ''].join(' ').trim();
    this.#wasFrozen = false;
    const [tasks, events] = [this.#tasks.take(overview), this.#events.take(overview)];
    this.#waiting = tasks + events + this.#stations.take(overview, this.#filter.search);
    const rows = { events: this.#events.rows, dead: this.#tasks.dead.rows };
    this.#thumbnails.forgetAllBut([...rows.events, ...rows.dead]);
    const lists = ['events', 'dead'] as const;
    const keys = new Set(lists.flatMap((list) => rows[list].map((row) => eventKey(list, row))));
    this.#opened.closeUnless((key) => keys.has(key));
    this.#draw();
  }

  #draw(): void {
    drawKeepingFocus(this.content, () => render(this.#drawn(), this.content));
  }

  #drawn(): TemplateResult {
    const overview = this.#known?.overview;
    return html`${this.#bar(overview)}
      <div class="rvm-body">${overview && this.#lists(overview)}</div>`;
  }

  #lists({ sharing }: Overview): unknown {
    return [this.#tasks.draw(), this.#events.draw(), this.#stations.draw(), instanceList(sharing)];
  }

  /** Fixed bar: counts that lead to their sections, the filter, the number of new rows that wait, and what keeps the inbox from storing. */
  #bar(overview: Overview | undefined): TemplateResult {
    const count = this.#waiting >= MANY ? `${this.#waiting}+` : this.#waiting;
    const waiting = this.#waiting === 0 ? '' : own('bar.new', { count });
    const show = (): void => this.#showNew();
    const showNew = html`<button type="button" class="rvm-new" @click=${show}>${waiting}</button>`;
    const found = overview === undefined ? '' : this.#foundText(overview);
    return html`<div class="rvm-top">
      <div class="rvm-chips">${overview && this.#chips(overview)}</div>
      <div class="rvm-filter-row">
        <div class="rvm-filter-place">${this.#filter.draw()}${waiting && showNew}</div>
        ${this.#sandboxAlarm(overview)}
      </div>
      <div class="rvm-quiet rvm-found" role="status" ?hidden=${found === ''}>${found}</div>
      <div class="rvm-fault" role="status" title=${this.#fault}>${this.#fault}</div>
      <span class="rvm-told" role="status" aria-live="polite">${waiting}</span>
    </div>`;
  }

  #chips(overview: Overview): TemplateResult[] {
    const { totals, stations } = overview;
    const hands = this.#tasks.count(overview);
    const troubled = stations.filter(isTroubled).length;
    const [all, tone] = [shownNumber(stations.length), troubled > 0 ? 'alarm' : ''] as const;
    return [
      this.#chip('hands', own('bar.hands'), shownNumber(hands), hands > 0 ? 'alarm' : 'good'),
      this.#chip('events', own('events'), totalText(totals.events, totals.isCut)),
      this.#chip('stations', own('bar.stations'), all, tone, troubled),
    ];
  }

  /** Shows the tone by colour and by symbol. */
  #chip(
    part: Part,
    name: string,
    figure: string,
    tone: 'alarm' | 'good' | '' = '',
    troubled = 0,
  ): TemplateResult {
    const form = tone && html`<i class="fa ${FORMS[tone]}" aria-hidden="true"></i>`;
    const trouble = troubled === 0 ? '' : own('bar.troubled', { count: troubled });
    const mark = trouble && html`<b class="rvm-troubled">${form} ${troubled}</b>`;
    return html`<button
      type="button"
      class="rvm-chip"
      data-part=${part}
      data-tone=${tone}
      title=${trouble}
      aria-label=${present([`${name} ${figure}`, trouble], ', ')}
      @click=${() => this.#go(part)}
    >
      ${mark === '' ? form : ''}<span>${name}</span><b>${figure}</b>${mark}
    </button>`;
  }

  #sandboxAlarm(overview: Overview | undefined): unknown {
    if (!this.#desk.mayAct || overview?.stations.some(({ isSandbox }) => isSandbox) !== true) return nothing;
    const raise = async (): Promise<void> => {
      const answer = await this.#act('sandbox-alarms', {});
      if (answer !== undefined) notify(own('raised'), { timeout: 2000 });
    };
    return button(own('sandboxAlarm'), () => void raise(), { name: 'rvm-sandbox-alarm' });
  }

  /** Skipped while the result of a new search is pending: an old one must not be drawn. */
  #redraw(): void {
    if (this.#known?.search !== this.#filter.search) return;
    this.#isFree = true;
    try {
      this.#show(this.#known.overview);
    } finally {
      this.#isFree = false;
    }
  }

  #foundText({ totals }: Overview): string {
    if (this.#filter.search === '') return '';
    const { found, fault } = this.#events.feed;
    if (fault !== '') return fault;
    if (found === undefined) return '…';
    const count = shownNumber(found.matches ?? 0);
    return found.isCut
      ? own('bar.matchesOfNewest', { count, total: shownNumber(found.looked) })
      : own('bar.matches', { count, total: totalText(totals.events, totals.isCut) });
  }

  #searched(): void {
    for (const feed of this.#feeds) feed.search(this.#filter.search);
    void this.#refresh();
  }

  /** Scrolls to the first row of a part, below the fixed bar. */
  #go(part: Part): void {
    const above = this.content.querySelector('.rvm-top')?.getBoundingClientRect().bottom ?? 0;
    const first = part === 'hands' ? this.content.querySelector('section') : shownSection(part);
    const top = first?.getBoundingClientRect().top ?? above;
    this.content.scrollTop = part === 'hands' ? 0 : this.content.scrollTop + top - above;
    first?.querySelector('h3')?.focus({ preventScroll: true });
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

  #stale(): void {
    this.#hasNews = true;
    for (const feed of this.#feeds) feed.stale();
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
      content: $(content),
      iconClass: 'fa fa-bell',
      enableOnEdit: true,
    });
  },
});
