import { type InstanceRow, PEER_TIMEOUT } from '../../lib/inbox/model';
import { matchAll, parseTerms } from '../../lib/text';
import { statePoint } from '../support/editor/picker';
import { ask } from '../support/editor/requests';
import type { PickedDevice } from '../support/picker-data';
import { type Say, type SentWords, type Words, WORDS_TOPIC, wordsToText } from '../support/status-words';
import type { Overview, SharingRow, StationRow } from './overview';
import {
  reconcileChildren,
  type ListContext,
  linesOf,
  makeOpener,
  nothing,
  own,
  present,
  RowList,
  type RowView,
  said,
  Section,
  textOf,
} from './rows.editor';

/** The Central Stations, one line each. Their cameras are loaded when the user opens the line. */
export class StationList {
  readonly section = new Section('stations');
  readonly #rows: RowList<StationRow, StationRowView>;

  constructor(
    private readonly desk: ListContext,
    open: OpenCamera,
  ) {
    this.#rows = new RowList(this.section.list, {
      keyOf: ({ id }) => id,
      make: () => new StationRowView(open),
    });
  }

  /**
   * @param search search text for names and keys; '' = none
   * @returns number of rows that wait to be shown
   */
  show({ stations }: Overview, search: string): number {
    const words = parseTerms(search);
    const found = stations.filter(({ key, name }) => matchAll([name, key], words));
    this.section.count(stations.length.toLocaleString());
    this.section.toggle(search === '' || found.length > 0);
    return this.#rows.show(found, { hold: this.desk.holdOf(this.section.element) });
  }

  /** Reloads the open lists of cameras. */
  refresh(): void {
    for (const view of this.#rows.views()) view.refresh();
  }
}

/** Called when the user opens the live video of a camera. */
export type OpenCamera = (station: StationRow, camera: PickedDevice, opener: HTMLElement) => void;

/** Symbol of a state, in addition to its colour and text. */
const FORMS: Readonly<Record<string, string>> = {
  green: 'fa-check-circle',
  yellow: 'fa-adjust',
  blue: 'fa-dot-circle-o',
  red: 'fa-exclamation-triangle',
};

/** True where a Central Station has a fault that needs a person. */
export function isTroubled({ status }: StationRow): boolean {
  return 'fill' in status && status.fill === 'red';
}

/** A Central Station in one line, which opens the list of its cameras. */
class StationRowView implements RowView<StationRow> {
  readonly #element = $('<div class="rvm-row rvm-station">');
  readonly #line = $('<summary>');
  readonly #details = $('<details>');
  readonly #list = $('<div class="rvm-cameras">');
  /** Key: all displayed values of a camera. */
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

  /** Cameras that are offline come first. */
  #showCameras(station: StationRow, devices: readonly PickedDevice[]): void {
    const ordered = [...devices].sort((one, other) => Number(one.online) - Number(other.online));
    const rows = ordered.map((device): [string, JQuery] => {
      const name = JSON.stringify(device);
      return [name, this.#rows.get(name) ?? this.#cameraRow(station, device)];
    });
    this.#rows = new Map(rows);
    reconcileChildren(this.#list, rows.length > 0 ? [...this.#rows.values()] : [nothing()]);
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

/** Node-RED instances that share the inboxes of this one, under the title of each inbox. */
export class InstanceList {
  constructor(private readonly list: JQuery) {}

  show(sharing: readonly SharingRow[]): void {
    const rows = sharing.flatMap(({ inbox, instances }) => [
      $('<div class="rvm-where">').text(inbox),
      ...instances.map(instanceRow),
    ]);
    reconcileChildren(this.list, rows);
  }
}

function instanceRow({ name, isSelf, sinceBeat, held }: InstanceRow): JQuery {
  const seconds = Math.max(0, Math.round(sinceBeat / 1000));
  const parts = present([own('beat', { seconds }), own('held', { count: held })], ' · ');
  const [what = $(), ...further] = linesOf(present([name, isSelf ? own('self') : null], ' · '), '', parts);
  what.prepend(statePoint(sinceBeat < PEER_TIMEOUT), ' ');
  return $('<div class="rvm-row">').append(what, ...further);
}

/** Status key and values by node id. */
const sent = new Map<string, SentWords>();

/**
 * Shows the statuses of the nodes of this package in the language and time zone of the editor. The text comes from Node-RED in
 * its own language; key and values come separately, before or after it.
 */
export function sayStatuses(): void {
  RED.comms.subscribe(`${WORDS_TOPIC}/#`, (topic, parts) => {
    const id = idIn(topic);
    if (isWords(parts)) sent.set(id, parts);
    else sent.delete(id);
    say(id);
  });
  // Node-RED updates its text first, whichever subscription is called first.
  RED.comms.subscribe('status/#', (topic) => queueMicrotask(() => say(idIn(topic))));
}

function idIn(topic: string): string {
  return topic.slice(topic.indexOf('/') + 1);
}

function isWords(parts: object): parts is SentWords {
  return 'words' in parts;
}

/** Replaces only the text that the values belong to: any other text is of a newer status. */
function say(id: string): void {
  const node = RED.nodes.node(id);
  const words = sent.get(id);
  if (!node || words === undefined || node.status?.text !== words.text) return;
  node.status.text = ownWords(words.words, (key, values) => node._(key, values));
  Object.assign(node, { dirty: true, dirtyStatus: true });
  RED.view.redrawStatus(node);
}

/** In the language of the editor, with its time. */
function ownWords(words: Words, say: Say): string {
  return wordsToText(words, say, clockTime);
}

/** In the format of the editor's language. */
function clockTime(time: Date): string {
  const language = localStorage.getItem('editor-language') ?? navigator.language;
  return time.toLocaleTimeString(language);
}
