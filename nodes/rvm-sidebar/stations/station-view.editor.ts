import type { PickedDevice } from '../../support/picker-data';
import { ask } from '../../support/editor/requests';
import { statePoint } from '../../support/editor/picker';
import { arrange } from '../list/arrange.editor';
import { makeOpener } from '../list/opener.editor';
import type { RowView } from '../list/row-list.editor';
import { nothing, own, present, said, textOf } from '../list/row.editor';
import type { StationRow } from '../overview';
import { ownWords } from '../status-words.editor';

/** Somebody wants to see a camera of a Central Station as it is now. */
export type OpenCamera = (station: StationRow, camera: PickedDevice, opener: HTMLElement) => void;

/** A state by its form as well as by its colour; its word stands beside it. */
const FORMS: Readonly<Record<string, string>> = {
  green: 'fa-check-circle',
  yellow: 'fa-adjust',
  blue: 'fa-dot-circle-o',
  red: 'fa-exclamation-triangle',
};

/** Whether something is wrong with a Central Station that a person has to see to. */
export function isTroubled({ status }: StationRow): boolean {
  return 'fill' in status && status.fill === 'red';
}

/** A Central Station in one line, which opens to its cameras. */
export class StationView implements RowView<StationRow> {
  readonly #element = $('<div class="rvm-row rvm-station">');
  readonly #line = $('<summary>');
  readonly #details = $('<details>');
  readonly #list = $('<div class="rvm-cameras">');
  /** By all that is shown of a camera. */
  #rows = new Map<string, JQuery>();
  #station: StationRow | undefined;
  #shown = '';

  constructor(private readonly open: OpenCamera) {
    this.#details.append(this.#line, this.#list);
    this.#details.on('toggle', () => this.refresh());
    this.#element.append(this.#details);
  }

  show(station: StationRow): JQuery {
    const shown = JSON.stringify(station);
    if (shown === this.#shown) return this.#element;
    this.#shown = shown;
    this.#station = station;
    this.#details.attr('data-station', station.id);
    this.#drawLine(station);
    this.refresh();
    return this.#element;
  }

  refresh(): void {
    if (this.#details.prop('open') === true && this.#station !== undefined) void this.#ask(this.#station);
  }

  #drawLine({ name, key, status, words, last }: StationRow): void {
    const { fill = 'grey' } = status as { fill?: string };
    const state = words === null ? own('idle') : ownWords(words, said);
    const time = { moment: Date.parse(last ?? '') };
    const lastAt = last === null ? '' : ownWords({ key: 'status.lastAlarm', values: { time } }, said);
    const form = $('<i class="fa" aria-hidden="true">').addClass(FORMS[fill] ?? 'fa-circle-thin');
    this.#line
      .attr({ 'data-fill': fill, title: present([name || key, state, lastAt], ' · ') })
      .empty()
      .append(
        form,
        $('<span class="rvm-what">').text(name || key),
        $('<span class="rvm-state">').text(state),
        $('<span class="rvm-quiet">').text(lastAt),
      );
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
