import { ask, post } from '../support/editor/ask';
import { AbandonedList } from './abandoned-list.editor';
import { EventList, eventTexts, whyLine } from './event-list.editor';
import {
  DEAD_ACTIONS,
  QUARANTINE_ACTIONS,
  type AbandonedRow,
  type Overview,
  type PendingRow,
  type QuarantineRow,
  type SidebarRow,
} from './overview';
import { InstanceList } from './instance-list.editor';
import { problemRow, quarantineRow, unknownPathRow } from './problem-row.editor';
import { nothing, own, present, rowOf, said, textOf } from './row.editor';
import { StationList, type OpenCamera } from './station-list.editor';
import { Thumbnails } from './thumbnails.editor';
import { VideoPanel } from './video-panel.editor';

/** Between two looks at the inbox while the sidebar is open, in milliseconds. */
const EVERY = 1000;

/** What needs hands stands first, where there is any: the sidebar may be a few lines high. */
const LISTS = [
  'problems',
  'abandoned',
  'quarantine',
  'unknownPaths',
  'dead',
  'stations',
  'pending',
  'instances',
  'events',
] as const;
type List = (typeof LISTS)[number];

/** Whether the first row of a list can be seen; true for one without rows, which is not shown. */
function isInSight(list: JQuery): boolean {
  const [row] = list.children().get();
  if (row === undefined || !list.is(':visible')) return true;
  const { left, top, width, height } = row.getBoundingClientRect();
  return row.contains(document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 10)));
}

/** The sidebar "Remote monitoring": what the inbox has, and what the stations do. */
class Sidebar {
  /** Takes the focus from a row that is there no more. */
  readonly content = $('<div class="rvm-sidebar" tabindex="-1">');
  readonly #fault = $('<div class="rvm-fault" role="status">');
  readonly #alarm = $('<button type="button" class="red-ui-button rvm-sandbox-alarm">');
  readonly #lists: Record<List, JQuery>;
  readonly #thumbnails = new Thumbnails();
  readonly #panel = new VideoPanel(this.content);
  readonly #stations: StationList;
  readonly #events: EventList;
  readonly #dead: EventList;
  readonly #abandoned: AbandonedList;
  readonly #instances: InstanceList;
  /** What is shown, so that nothing that is the same is drawn again under the pointer. */
  #shown = '';
  #asking = false;

  constructor() {
    this.content.append(this.#fault);
    this.#alarm.text(own('sandboxAlarm')).on('click', () => void this.#raise());
    this.#lists = Object.fromEntries(LISTS.map((name) => [name, this.#list(name)])) as Record<List, JQuery>;
    this.#alarm.insertAfter(this.#lists.stations).hide();
    this.#stations = new StationList(this.#lists.stations, this.#openCamera);
    const options = { thumbnails: this.#thumbnails, open: this.#openEvent };
    this.#events = new EventList(this.#lists.events, options);
    const below = (row: SidebarRow): JQuery => whyLine(row).add(this.#deadActions(row));
    this.#dead = new EventList(this.#lists.dead, { ...options, below });
    this.#instances = new InstanceList(this.#lists.instances);
    this.#abandoned = new AbandonedList(this.#lists.abandoned, (row, to) => void this.#assign(row, to));
    this.content.on('keydown', (event) => {
      if (event.key === 'Escape') this.#panel.close();
    });
    setInterval(() => void this.#refresh(), EVERY);
  }

  #list(name: string): JQuery {
    const list = $(`<div class="rvm-${name}">`);
    this.content.append($('<h3>').text(own(name)), list);
    return list;
  }

  async #refresh(): Promise<void> {
    if (this.#asking || !this.content.is(':visible') || document.hidden) return;
    this.#asking = true;
    try {
      const overview = await ask<Overview>(said, { url: 'rvm/overview' });
      this.#show(overview);
      this.#events.look();
      this.#dead.look();
      await this.#tellSeen(overview);
    } catch (failure) {
      this.#fault.text(textOf(failure));
      // So that the next answer takes the fault away, also where nothing else has changed.
      this.#shown = '';
    } finally {
      this.#asking = false;
    }
  }

  /**
   * Only where a person is there, and what there is to see is in sight: not by a window in the background, nor by one that hangs on
   * a wall for those who may not act, nor where it would have to be scrolled to.
   */
  async #tellSeen({ hasUnseen, lastProblem }: Overview): Promise<void> {
    if (!hasUnseen || !document.hasFocus() || !RED.user.hasPermission('rvm.write')) return;
    const { problems, quarantine } = this.#lists;
    if (![problems, quarantine].every(isInSight)) return;
    await post(said, 'problems-seen', { lastProblem });
  }

  /** What the instances tell is another each second. */
  #show({ sharing, ...overview }: Overview): void {
    this.#instances.show(sharing);
    this.#toggle('instances', sharing.length > 0);
    const shown = JSON.stringify(overview);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const { stations, pending, events, dead, quarantine, refused, problems, fault, isCut, isPartial } =
      overview;
    this.#fault.text(fault === null ? '' : own(isCut ? 'cut' : 'notDurable', { reason: fault }));
    this.#alarm.toggle(stations.some(({ isSandbox }) => isSandbox));
    this.#stations.show(stations, events);
    this.#thumbnails.forgetAllBut([...events, ...dead]);
    this.#events.show(events, ...(isPartial ? [$('<div class="rvm-quiet">').text(own('partial'))] : []));
    this.#dead.show(dead);
    this.#toggle('dead', dead.length > 0);
    this.#abandoned.show(overview.abandoned);
    this.#toggle('abandoned', overview.abandoned.length > 0);
    this.#fillUrgent(
      'pending',
      pending.map((row) => pendingRow(row).append(this.#acceptButton(row))),
    );
    this.#fillUrgent('problems', problems.map(problemRow));
    this.#fillUrgent('quarantine', [
      ...quarantine.map((row) => quarantineRow(row).append(this.#quarantineActions(row))),
      ...refused.map(problemRow),
    ]);
    this.#fillUrgent('unknownPaths', overview.unknownPaths.map(unknownPathRow));
  }

  #fillUrgent(
    name: Exclude<List, 'stations' | 'events' | 'dead' | 'abandoned' | 'instances'>,
    rows: readonly JQuery[],
  ): void {
    this.#lists[name].empty().append(rows.length > 0 ? [...rows] : nothing());
    this.#toggle(name, rows.length > 0);
  }

  /** What needs hands is shown only while there is any. */
  #toggle(name: List, isThere: boolean): void {
    const list = this.#lists[name];
    list.add(list.prev('h3')).toggle(isThere);
  }

  readonly #openEvent = (row: SidebarRow, opener: HTMLElement): void => {
    const [what, where] = eventTexts(row);
    const texts = [what, where, new Date(row.time).toLocaleString()] as const;
    this.#panel.toggle({ wanted: { delivery: row.deliveryId }, texts, opener });
  };

  readonly #openCamera: OpenCamera = ({ key, name }, camera, opener) => {
    const texts = [
      camera.name || camera.id,
      present([camera.site, name || key], ' · '),
      camera.status,
    ] as const;
    this.#panel.toggle({ wanted: { station: key, camera: camera.id }, texts, opener });
  };

  #deadActions({ deliveryId, canRetry }: SidebarRow): JQuery {
    const actions = DEAD_ACTIONS.filter((action) => action !== 'retry' || canRetry);
    return buttons(actions, (action) => void this.#act('dead-letters', { deliveryId, action }));
  }

  #quarantineActions({ inbox, endpointId, lastId, canVerify }: QuarantineRow): JQuery {
    const actions = QUARANTINE_ACTIONS.filter((action) => action !== 'verify' || canVerify);
    return buttons(actions, async (action) => {
      const asked = { inbox, endpointId, lastId, action };
      const answer = await this.#act<{ accepted: number }>('quarantine', asked);
      if (answer !== undefined && action === 'verify') {
        RED.notify(own('accepted', { count: answer.accepted }), { timeout: 4000 });
      }
    });
  }

  async #assign({ inbox, endpointId }: AbandonedRow, to: string): Promise<void> {
    const answer = await this.#act<{ assigned: number }>('abandoned-events', { inbox, endpointId, to });
    if (answer !== undefined) RED.notify(own('assigned', { count: answer.assigned }), { timeout: 4000 });
  }

  #acceptButton({ cloud, customer, site }: PendingRow): JQuery {
    return buttons(['accept'], async () => {
      if ((await this.#act('sandbox-sites', { cloud, customer })) === undefined) return;
      RED.notify(own('siteAccepted', { site }), { timeout: 4000 });
      this.#stations.refresh();
    });
  }

  async #raise(): Promise<void> {
    const answer = await this.#act('sandbox-alarms', {});
    if (answer !== undefined) RED.notify(own('raised'), { timeout: 2000 });
  }

  /** Undefined where it failed, which the user is told. */
  async #act<Answer>(path: string, body: object): Promise<Answer | undefined> {
    try {
      const answer = await post<Answer>(said, path, body);
      await this.#refresh();
      return answer;
    } catch (failure) {
      RED.notify(textOf(failure), { type: 'error' });
      return undefined;
    }
  }
}

function buttons<Action extends string>(
  actions: readonly Action[],
  act: (action: Action) => unknown,
): JQuery {
  const shown = actions.map((action) =>
    $('<button type="button" class="red-ui-button red-ui-button-small">')
      .text(own(action))
      .attr('data-action', action)
      .on('click', () => void act(action)),
  );
  return $('<div>').append(shown);
}

function pendingRow({ site, name }: PendingRow): JQuery {
  return rowOf(site, name, own('pendingHint'));
}

RED.plugins.registerPlugin('rvm-sidebar', {
  type: 'rvm-sidebar',
  onadd() {
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
