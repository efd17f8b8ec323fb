import './sidebar.css';
import { ask, post, tell } from '../support/editor/requests';
import { Bar, type Part } from './bar/bar.editor';
import { EventList, shownNumber, totalText } from './events/event-list.editor';
import { Thumbnails } from './events/thumbnails.editor';
import { Hands } from './hands/hands.editor';
import type { Desk } from './list/desk.editor';
import { Discards } from './list/discards.editor';
import { Hold } from './list/hold.editor';
import { own, present, said, textOf } from './list/row.editor';
import { Section } from './list/section.editor';
import { OneAtATime } from './opened/one-at-a-time.editor';
import type { Overview } from './overview';
import { InstanceList } from './stations/instance-list.editor';
import { StationList } from './stations/station-list.editor';
import { isTroubled, type OpenCamera } from './stations/station-view.editor';
import { VideoPanel } from './video/video-panel.editor';
import { sayStatuses } from './status-words.editor';

/** Between two looks at the inbox while the sidebar is open, in milliseconds. */
const EVERY = 1000;
/** New rows of which the overview tells at most. */
const MANY = 50;

/** The sidebar "Remote monitoring": what needs hands, what the inbox has, and what the stations do. */
class Sidebar {
  /** Takes the focus from a row that is there no more. */
  readonly content = $('<div class="rvm-sidebar" tabindex="-1">');
  readonly #fault = $('<div class="rvm-fault" role="status">');
  readonly #alarm = $('<button type="button" class="red-ui-button red-ui-button-small rvm-sandbox-alarm">');
  readonly #body = $('<div class="rvm-body">');
  readonly #thumbnails = new Thumbnails();
  readonly #panel = new VideoPanel(this.content);
  readonly #opened = new OneAtATime();
  readonly #bar = new Bar(
    {
      search: (search) => this.#setSearch(search),
      go: (part) => this.#go(part),
      showNew: () => this.#showNew(),
    },
    this.#alarm,
  );
  readonly #hold = new Hold(this.content, this.#body, this.#bar.element);
  readonly #desk: Desk = this.#newDesk();
  readonly #hands: Hands;
  readonly #events: EventList;
  readonly #stations: StationList;
  readonly #instances = new Section('instances');
  readonly #instanceList = new InstanceList(this.#instances.list);
  #search = '';
  /** The newest, and what was looked for in it. */
  #known: { overview: Overview; search: string } | undefined;
  /** True while what the user has asked for is drawn: nothing holds the rows then. */
  #isFree = false;
  #asking = false;

  constructor() {
    const rows = { thumbnails: this.#thumbnails, opened: this.#opened, hand: this.#desk };
    const search = (): string => this.#search;
    this.#stations = new StationList(this.#desk, this.#openCamera);
    this.#hands = new Hands(this.#desk, { ...rows, search, accepted: () => this.#stations.refresh() });
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

  #newDesk(): Desk {
    const discards = new Discards(({ path, body }) => this.#act(path, body));
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

  /** The first of all, and the first of what is looked for now, is what somebody waits for. */
  async #take(overview: Overview): Promise<void> {
    const isAwaited = this.#known?.search !== this.#search;
    this.#known = { overview, search: this.#search };
    if (isAwaited) this.#redraw();
    else this.#show(overview);
    await this.#tellSeen(overview);
  }

  /**
   * Only where a person is there, and what there is to see is in sight: not by a window in the background, nor by one that hangs on
   * a wall for those who may not act, nor where it would have to be scrolled to.
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

  /** Not what was looked for before: what is looked for now is on its way. */
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

  /** To the first row of a part, below what stays at the top. */
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

  /** Draws what has waited, where it can be seen. */
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
    if (answer !== undefined) tell(own('raised'), { timeout: 2000 });
  }

  #stale(): void {
    this.#hands.stale();
    this.#events.feed.stale();
  }

  /** Undefined where it failed, which the user is told. */
  async #act<Answer>(path: string, body: object): Promise<Answer | undefined> {
    try {
      const answer = await post<Answer>(said, path, body);
      this.#stale();
      await this.#refresh();
      return answer;
    } catch (failure) {
      tell(textOf(failure), { type: 'error' });
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
