import type { PickedDevice } from '../support/picker-data';
import { ask, AskError, post } from '../support/editor/ask';
import { statePoint } from '../support/editor/state-point';
import {
  DEAD_ACTIONS,
  QUARANTINE_ACTIONS,
  type Overview,
  type PendingRow,
  type Picture,
  type QuarantineRow,
  type SidebarRow,
  type StationRow,
} from './overview';
import { problemRow, quarantineRow, unknownPathRow } from './problem-row.editor';
import { own, present, rowOf, said } from './row.editor';

/** Between two looks at the inbox while the sidebar is open, in milliseconds. */
const EVERY = 1000;

/** What needs hands stands first, where there is any: the sidebar may be a few lines high. */
const LISTS = ['problems', 'quarantine', 'unknownPaths', 'dead', 'stations', 'pending', 'events'] as const;
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
  readonly content = $('<div class="rvm-sidebar">');
  readonly #fault = $('<div class="rvm-fault" role="status">');
  readonly #alarm = $('<button type="button" class="red-ui-button rvm-sandbox-alarm">');
  readonly #lists: Record<List, JQuery>;
  /** What is shown, so that nothing that is the same is drawn again under the pointer. */
  #shown = '';
  #shownStations = '';
  #asking = false;
  /** By delivery id, as data URLs. */
  readonly #pictures = new Map<string, Promise<string>>();

  constructor() {
    this.content.append(this.#fault);
    this.#alarm.text(own('sandboxAlarm')).on('click', () => void this.#raise());
    this.#lists = Object.fromEntries(LISTS.map((name) => [name, this.#list(name)])) as Record<List, JQuery>;
    this.#alarm.insertAfter(this.#lists.stations).hide();
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

  #show(overview: Overview): void {
    const shown = JSON.stringify(overview);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const { stations, pending, events, dead, quarantine, refused, problems, fault, isPartial } = overview;
    this.#fault.text(fault === null ? '' : own('notDurable', { reason: fault }));
    this.#alarm.toggle(stations.some(({ isSandbox }) => isSandbox));
    this.#showStations(stations, events);
    this.#forgetPictures(events);
    const missing = isPartial ? [$('<div class="rvm-quiet">').text(own('partial'))] : [];
    fill(this.#lists.events, [...events.map((row) => this.#eventRow(row)), ...missing]);
    this.#fillUrgent(
      'pending',
      pending.map((row) => pendingRow(row).append(this.#acceptButton(row))),
    );
    this.#fillUrgent(
      'dead',
      dead.map((row) => eventRow(row).append(whyLine(row), this.#deadActions(row))),
    );
    this.#fillUrgent('problems', problems.map(problemRow));
    this.#fillUrgent('quarantine', [
      ...quarantine.map((row) => quarantineRow(row).append(this.#quarantineActions(row))),
      ...refused.map(problemRow),
    ]);
    this.#fillUrgent('unknownPaths', overview.unknownPaths.map(unknownPathRow));
  }

  #fillUrgent(name: Exclude<List, 'stations' | 'events'>, rows: readonly JQuery[]): void {
    const list = this.#lists[name];
    fill(list, rows);
    list.add(list.prev('h3')).toggle(rows.length > 0);
  }

  /** With its picture, where one was taken. */
  #eventRow(row: SidebarRow): JQuery {
    const shown = eventRow(row);
    if (!row.hasPicture) return shown;
    const image = $('<img class="rvm-thumbnail" alt="">');
    const known = this.#pictures.get(row.deliveryId) ?? pictureOf(row.deliveryId);
    this.#pictures.set(row.deliveryId, known);
    known.then(
      (url) => image.attr('src', url),
      () => image.remove(),
    );
    return shown.prepend(image);
  }

  #forgetPictures(events: readonly SidebarRow[]): void {
    const shown = new Set(events.map(({ deliveryId }) => deliveryId));
    for (const id of this.#pictures.keys()) if (!shown.has(id)) this.#pictures.delete(id);
  }

  /** Anew only where they have changed; what was open stays so. */
  #showStations(stations: readonly StationRow[], events: readonly SidebarRow[]): void {
    const last = stations.map(({ key }) => events.find(({ station }) => station === key)?.time);
    const shown = JSON.stringify([stations, last]);
    if (shown === this.#shownStations) return;
    this.#shownStations = shown;
    const list = this.#lists.stations;
    const open = list.find('details[open]').map((_index, details) => details.dataset['station']);
    fill(
      list,
      stations.map((station, index) => stationRow(station, last[index])),
    );
    for (const station of open.get()) list.find(`details[data-station="${station}"]`).prop('open', true);
  }

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

  #acceptButton({ cloud, customer, site }: PendingRow): JQuery {
    return buttons(['accept'], async () => {
      if ((await this.#act('sandbox-sites', { cloud, customer })) === undefined) return;
      RED.notify(own('siteAccepted', { site }), { timeout: 4000 });
      // Lists of cameras that are open ask again.
      this.#shown = '';
      this.#shownStations = '';
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

/** Read by a request that carries the login of the user, as the address of an image could not. */
async function pictureOf(deliveryId: string): Promise<string> {
  const { jpeg } = await ask<Picture>(said, { url: 'rvm/picture', data: { deliveryId } });
  if (jpeg === null) throw new AskError('gone');
  return `data:image/jpeg;base64,${jpeg}`;
}

function fill(list: JQuery, rows: readonly JQuery[]): void {
  list.empty().append(rows.length > 0 ? [...rows] : $('<div class="rvm-quiet">').text(own('none')));
}

function eventRow({ time, site, camera, rule, phase, state, proof, station }: SidebarRow): JQuery {
  const what = present([rule, phase === 'end' ? own('end') : null], ', ');
  const where = present([site, camera], ' · ');
  const at = new Date(time).toLocaleTimeString();
  const quiet = present(
    [at, own(`state.${state}`), proof === undefined ? null : own(`proof.${proof}`)],
    ' · ',
  );
  return rowOf(what || station, where, quiet).attr({ 'data-state': state, title: time });
}

/** Why it is a dead letter. */
function whyLine({ why }: SidebarRow): JQuery {
  return why === undefined ? $() : $('<div class="rvm-quiet">').text(said(why));
}

function pendingRow({ site, name }: PendingRow): JQuery {
  return rowOf(site, name, own('pendingHint'));
}

/** With its cameras, which are asked for when somebody wants to see them. */
function stationRow({ id, key, name, status }: StationRow, last: string | undefined): JQuery {
  const { text = '' } = status as { text?: string };
  const lastAt =
    last === undefined ? null : said('status.lastAlarm', { time: new Date(last).toLocaleTimeString() });
  const state = present([text.startsWith('status.') ? said(text) : text, lastAt], ' · ');
  const cameras = $('<details>')
    .attr('data-station', id)
    .append($('<summary>').text(own('cameras')));
  const list = $('<div class="rvm-cameras">').appendTo(cameras);
  cameras.on('toggle', () => {
    if (cameras.prop('open') === true) void showCameras(list, id);
  });
  return rowOf(name || key, '', state).append(cameras);
}

async function showCameras(list: JQuery, station: string): Promise<void> {
  list.text('…');
  try {
    const { devices } = await ask<{ devices: PickedDevice[] }>(said, {
      url: 'rvm/devices',
      data: { station },
    });
    // Those that somebody has to look after come first.
    const rows = [...devices].sort((one, other) => Number(one.online) - Number(other.online)).map(cameraRow);
    fill(list, rows);
  } catch (failure) {
    list.text(textOf(failure));
  }
}

function cameraRow({ name, id, site, status, online }: PickedDevice): JQuery {
  return $('<div class="rvm-camera">').append(
    statePoint(online),
    $('<span>').text(present([name || id, site, status], ' · ')),
  );
}

function textOf(failure: unknown): string {
  if (failure instanceof AskError) return failure.message;
  throw failure;
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
