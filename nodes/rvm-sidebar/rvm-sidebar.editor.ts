import type { PickedDevice } from '../support/picker-data';
import { DEAD_ACTIONS, type Overview, type SidebarRow, type StationRow } from './overview';

const TEXTS = '@rvm/node-red-remote-monitoring/rvm-sidebar:';
/** Between two looks at the inbox while the sidebar is open, in milliseconds. */
const EVERY = 1000;

function said(key: string, values?: Record<string, unknown>): string {
  return RED._(`${TEXTS}${key}`, values);
}

function own(key: string): string {
  return said(`rvm-sidebar.${key}`);
}

/** The sidebar "Remote monitoring": what the inbox has, and what the stations do. */
class Sidebar {
  readonly content = $('<div class="rvm-sidebar">');
  readonly #fault = $('<div class="rvm-fault" role="status">');
  readonly #alarm = $('<button type="button" class="red-ui-button rvm-sandbox-alarm">');
  readonly #lists: Record<'stations' | 'events' | 'dead', JQuery>;
  /** What is shown, so that nothing that is the same is drawn again under the pointer. */
  #shown = '';
  #shownStations = '';

  constructor() {
    this.content.append(this.#fault);
    this.#alarm.text(own('sandboxAlarm')).on('click', () => void this.#raise());
    this.#lists = {
      stations: this.#list('stations'),
      events: this.#list('events'),
      dead: this.#list('dead'),
    };
    this.#alarm.insertAfter(this.#lists.stations).hide();
    setInterval(() => void this.#refresh(), EVERY);
  }

  #list(name: string): JQuery {
    const list = $(`<div class="rvm-${name}">`);
    this.content.append($('<h3>').text(own(name)), list);
    return list;
  }

  async #refresh(): Promise<void> {
    if (!this.content.is(':visible') || document.hidden) return;
    try {
      this.#show((await $.ajax({ url: 'rvm/overview' })) as Overview);
    } catch (failure) {
      this.#fault.text(messageOf(failure));
    }
  }

  #show(overview: Overview): void {
    const shown = JSON.stringify(overview);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const { stations, events, dead, isDurable } = overview;
    this.#fault.text(isDurable ? '' : own('notDurable'));
    this.#alarm.toggle(stations.some(({ isSandbox }) => isSandbox));
    this.#showStations(stations, events);
    fill(this.#lists.events, events.map(eventRow));
    const rows = dead.map((row) =>
      row.state === 'dead' ? eventRow(row).append(this.#actions(row)) : eventRow(row),
    );
    fill(this.#lists.dead, rows);
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

  #actions({ deliveryId }: SidebarRow): JQuery {
    const buttons = DEAD_ACTIONS.map((action) =>
      $('<button type="button" class="red-ui-button red-ui-button-small">')
        .text(own(action))
        .attr('data-action', action)
        .on('click', () => void this.#act('rvm/dead-letters', { deliveryId, action })),
    );
    return $('<div>').append(buttons);
  }

  async #raise(): Promise<void> {
    if (await this.#act('rvm/sandbox-alarms', {})) RED.notify(own('raised'), { timeout: 2000 });
  }

  async #act(url: string, body: object): Promise<boolean> {
    try {
      await $.ajax({ url, method: 'POST', contentType: 'application/json', data: JSON.stringify(body) });
      await this.#refresh();
      return true;
    } catch (failure) {
      RED.notify(messageOf(failure), { type: 'error' });
      return false;
    }
  }
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

function present(parts: readonly (string | null)[], between: string): string {
  return parts.filter((part) => part !== null && part !== '').join(between);
}

function rowOf(...lines: [what: string, where: string, quiet: string]): JQuery {
  const classes = ['rvm-what', 'rvm-where', 'rvm-quiet'];
  const shown = lines.map((text, index) =>
    $('<div>')
      .addClass(classes[index] ?? '')
      .text(text),
  );
  return $('<div class="rvm-row">').append(shown.filter((line) => line.text() !== ''));
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
    const { devices } = (await $.ajax({ url: 'rvm/devices', data: { station } })) as {
      devices: PickedDevice[];
    };
    // Those that somebody has to look after come first.
    const rows = [...devices].sort((one, other) => Number(one.online) - Number(other.online)).map(cameraRow);
    fill(list, rows);
  } catch (failure) {
    list.text(messageOf(failure));
  }
}

function cameraRow({ name, id, site, status, online }: PickedDevice): JQuery {
  const point = $('<i class="fa" aria-hidden="true">').addClass(
    online ? 'fa-circle rvm-good' : 'fa-circle-o rvm-bad',
  );
  return $('<div class="rvm-camera">').append(
    point,
    $('<span>').text(present([name || id, site, status], ' · ')),
  );
}

function messageOf(failure: unknown): string {
  const { responseJSON, statusText } = failure as JQuery.jqXHR<unknown>;
  const { message } = (responseJSON ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : statusText;
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
