import type { PickedDevice } from '../support/picker-data';
import { ask } from '../support/editor/ask';
import { statePoint } from '../support/editor/state-point';
import { arrange } from './arrange.editor';
import { makeOpener } from './opener.editor';
import type { SidebarRow, StationRow } from './overview';
import { linesOf, nothing, own, present, said, textOf } from './row.editor';

/** Somebody wants to see a camera of a Central Station as it is now. */
export type OpenCamera = (station: StationRow, camera: PickedDevice, opener: HTMLElement) => void;

/** The Central Stations with their cameras, which are asked for when somebody wants to see them. */
export class StationList {
  /** By the id of the config node. */
  readonly #rows = new Map<string, StationView>();
  #shown = '';

  constructor(
    private readonly list: JQuery,
    private readonly open: OpenCamera,
  ) {}

  /** Anew only where they have changed; what was open stays so. */
  show(stations: readonly StationRow[], events: readonly SidebarRow[]): void {
    const last = stations.map(({ key }) => events.find(({ station }) => station === key)?.time);
    const shown = JSON.stringify([stations, last]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const ids = new Set(stations.map(({ id }) => id));
    for (const id of this.#rows.keys()) if (!ids.has(id)) this.#rows.delete(id);
    const elements = stations.map((station, index) => this.#rowOf(station).show(station, last[index]));
    arrange(this.list, elements.length > 0 ? elements : [nothing()]);
  }

  /** Lists of cameras that are open ask again. */
  refresh(): void {
    for (const row of this.#rows.values()) row.refresh();
  }

  #rowOf({ id }: StationRow): StationView {
    const row = this.#rows.get(id) ?? new StationView(this.open);
    this.#rows.set(id, row);
    return row;
  }
}

class StationView {
  readonly #element = $('<div class="rvm-row">');
  readonly #facts = $('<div>');
  readonly #cameras = $('<details>');
  readonly #list = $('<div class="rvm-cameras">');
  /** By all that is shown of a camera. */
  #rows = new Map<string, JQuery>();
  #station: StationRow | undefined;

  constructor(private readonly open: OpenCamera) {
    this.#cameras.append($('<summary>').text(own('cameras')), this.#list);
    this.#cameras.on('toggle', () => this.refresh());
    this.#element.append(this.#facts, this.#cameras);
  }

  show(station: StationRow, last: string | undefined): JQuery {
    this.#station = station;
    const { text = '' } = station.status as { text?: string };
    const lastAt =
      last === undefined ? null : said('status.lastAlarm', { time: new Date(last).toLocaleTimeString() });
    const state = present([text.startsWith('status.') ? said(text) : text, lastAt], ' · ');
    this.#facts.empty().append(linesOf(station.name || station.key, '', state));
    this.#cameras.attr('data-station', station.id);
    this.refresh();
    return this.#element;
  }

  refresh(): void {
    if (this.#cameras.prop('open') === true && this.#station !== undefined) void this.#ask(this.#station);
  }

  async #ask(station: StationRow): Promise<void> {
    if (this.#rows.size === 0) this.#list.text('…');
    try {
      const data = { station: station.id };
      const { devices } = await ask<{ devices: PickedDevice[] }>(said, { url: 'rvm/devices', data });
      this.#showCameras(station, devices);
    } catch (failure) {
      this.#rows.clear();
      this.#list.text(textOf(failure));
    }
  }

  /** Those that somebody has to look after come first. */
  #showCameras(station: StationRow, devices: readonly PickedDevice[]): void {
    const ordered = [...devices].sort((one, other) => Number(one.online) - Number(other.online));
    const rows = ordered.map((device): [string, JQuery] => {
      const name = JSON.stringify(device);
      return [name, this.#rows.get(name) ?? this.#cameraRow(station, device)];
    });
    this.#rows = new Map(rows);
    arrange(this.#list, rows.length > 0 ? [...this.#rows.values()] : [nothing()]);
  }

  #cameraRow(station: StationRow, device: PickedDevice): JQuery {
    const { name, id, site, status, online } = device;
    const row = $('<div class="rvm-camera">').append(
      statePoint(online),
      $('<span>').text(present([name || id, site, status], ' · ')),
    );
    return makeOpener(row, own('showLive'), (opener) => this.open(station, device, opener));
  }
}
