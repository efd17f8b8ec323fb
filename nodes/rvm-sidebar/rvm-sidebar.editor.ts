import type { EventRow } from '../../lib/inbox/event-row';
import { DEAD_ACTIONS, type Overview, type StationRow } from './overview';

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
    fill(this.#lists.stations, stations.map(stationRow));
    fill(this.#lists.events, events.map(eventRow));
    const rows = dead.map((row) =>
      row.state === 'dead' ? eventRow(row).append(this.#actions(row)) : eventRow(row),
    );
    fill(this.#lists.dead, rows);
  }

  #actions({ deliveryId }: EventRow): JQuery {
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

function stationRow({ key, name, status }: StationRow): JQuery {
  const { text = '' } = status as { text?: string };
  return rowOf(name || key, text.startsWith('status.') ? said(text) : text);
}

function eventRow({ time, site, camera, rule, phase, state, station }: EventRow): JQuery {
  const what = [rule, phase === 'end' ? own('end') : null].filter((text) => text !== null).join(', ');
  const where = [site, camera].filter((text) => text !== null && text !== '').join(' · ');
  const at = new Date(time).toLocaleTimeString();
  const row = rowOf(what || station, `${at} · ${own(`state.${state}`)}`);
  return row.append($('<div class="rvm-what">').text(where)).attr({ 'data-state': state, title: time });
}

function rowOf(what: string, quiet: string): JQuery {
  const line = $('<div class="rvm-line">');
  line.append($('<span class="rvm-what">').text(what), $('<span class="rvm-quiet">').text(quiet));
  return $('<div class="rvm-row">').append(line);
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
