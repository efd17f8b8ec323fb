import { html, nothing, type TemplateResult } from 'lit/html.js';
import { repeat } from 'lit/directives/repeat.js';
import { type InstanceRow, PEER_TIMEOUT } from '../../lib/inbox/model';
import { matchAll, parseTerms } from '../../lib/text';
import { pointIcon } from '../support/editor/picker';
import { ask } from '../support/editor/requests';
import type { PickedDevice } from '../support/picker-data';
import { type Say, type SentWords, type Words, WORDS_TOPIC, wordsToText } from '../support/status-words';
import type { Overview, SharingRow, StationRow } from './overview';
import {
  FrozenRows,
  type ListContext,
  linesOf,
  noneYet,
  opener,
  own,
  present,
  rowAround,
  said,
  section,
  type ShownRow,
  textOf,
} from './rows.editor';

/** Symbol of a state, in addition to its colour and text. */
const FORMS: Readonly<Record<string, string>> = {
  green: 'fa-check-circle',
  yellow: 'fa-adjust',
  blue: 'fa-dot-circle-o',
  red: 'fa-exclamation-triangle',
};

/** Called when the user opens the live video of a camera. */
export type OpenCamera = (station: StationRow, camera: PickedDevice, opener: HTMLElement) => void;

/** The Central Stations, one line each, which opens the list of its cameras; these are loaded then. */
export class StationList {
  readonly #rows = new FrozenRows<StationRow>(({ id }) => id);
  #count = 0;
  #isShown = true;
  /** Ids of those that are open. */
  readonly #open = new Set<string>();
  /** By id of a station: its cameras, or why they cannot be listed; absent until that is known. */
  readonly #known = new Map<string, readonly PickedDevice[] | string>();
  #asked: readonly StationRow[] = [];

  constructor(
    private readonly desk: ListContext,
    private readonly open: OpenCamera,
  ) {}

  /**
   * @param search search text for names and keys; '' = none
   * @returns number of rows that wait to be shown
   */
  take({ stations }: Overview, search: string): number {
    const words = parseTerms(search);
    const found = stations.filter(({ key, name }) => matchAll([name, key], words));
    this.#count = stations.length;
    this.#isShown = search === '' || found.length > 0;
    const waiting = this.#rows.take(found, this.desk.holdOf('stations'));
    const before = new Map(this.#asked.map((station) => [station.id, JSON.stringify(station)]));
    this.#asked = this.#rows.rows;
    for (const station of this.#asked)
      if (before.get(station.id) !== JSON.stringify(station)) void this.#ask(station);
    return waiting;
  }

  draw(): unknown {
    if (!this.#isShown) return nothing;
    const list = this.#rows.draw((shown) => this.#row(shown));
    return section({ name: 'stations', count: this.#count.toLocaleString(), list });
  }

  /** Reloads the open lists of cameras. */
  refresh(): void {
    for (const station of this.#asked) void this.#ask(station);
  }

  #row({ row: station, isGone }: ShownRow<StationRow>): TemplateResult {
    const { id, name, key, status, words, last } = station;
    const { fill = 'grey' } = status as { fill?: string };
    const state = words === null ? own('idle') : ownWords(words, said);
    const time = { moment: Date.parse(last ?? '') };
    const lastAt = last === null ? '' : ownWords({ key: 'status.lastAlarm', values: { time } }, said);
    const title = present([name || key, state, lastAt], ' · ');
    const toggled = ({ currentTarget }: Event): void =>
      this.#toggled(station, (currentTarget as HTMLDetailsElement).open);
    const content = html`<details data-station=${id} @toggle=${toggled}>
      <summary data-fill=${fill} title=${title}>
        <i class="fa ${FORMS[fill] ?? 'fa-circle-thin'}" aria-hidden="true"></i>
        <span class="rvm-what">${name || key}</span>
        <span class="rvm-state">${state}</span>
        <span class="rvm-quiet">${lastAt}</span>
      </summary>
      <div class="rvm-cameras">${this.#cameras(station)}</div>
    </details>`;
    return rowAround(isGone, content, { name: 'rvm-station' });
  }

  #toggled(station: StationRow, isOpen: boolean): void {
    this.#open[isOpen ? 'add' : 'delete'](station.id);
    this.desk.draw();
    void this.#ask(station);
  }

  async #ask({ id }: StationRow): Promise<void> {
    if (!this.#open.has(id)) return;
    try {
      const asked = { url: 'rvm/devices', data: { station: id } };
      const { devices } = await ask<{ devices: PickedDevice[] }>(said, asked);
      // Cameras that are offline come first.
      this.#known.set(
        id,
        devices.toSorted((one, other) => Number(one.online) - Number(other.online)),
      );
    } catch (failure) {
      this.#known.set(id, textOf(failure));
    }
    this.desk.draw();
  }

  #cameras(station: StationRow): unknown {
    const cameras = this.#known.get(station.id) ?? '…';
    if (typeof cameras === 'string') return cameras;
    if (cameras.length === 0) return noneYet();
    return repeat(
      cameras,
      ({ id }) => id,
      (camera) => {
        const { name, id, site, status, online } = camera;
        const content = html`${point(online)}<span>${present([name || id, site, status], ' · ')}</span>`;
        const show = (from: HTMLElement): void => this.open(station, camera, from);
        return opener(content, own('showLive'), show, { name: 'rvm-camera' });
      },
    );
  }
}

/** True where a Central Station has a fault that needs a person. */
export function isTroubled({ status }: StationRow): boolean {
  return 'fill' in status && status.fill === 'red';
}

/** Node-RED instances that share the inboxes of this one, under the title of each inbox. */
export function instanceList(sharing: readonly SharingRow[]): unknown {
  if (sharing.length === 0) return nothing;
  const rows = sharing.map(
    ({ inbox, instances }) =>
      html`<div class="rvm-where">${inbox}</div>
        ${instances.map(instanceRow)}`,
  );
  return section({ name: 'instances', list: rows });
}

function instanceRow({ name, isSelf, sinceBeat, held }: InstanceRow): TemplateResult {
  const seconds = Math.max(0, Math.round(sinceBeat / 1000));
  const parts = present([own('beat', { seconds }), own('held', { count: held })], ' · ');
  const what = present([name, isSelf ? own('self') : null], ' · ');
  return rowAround(
    false,
    html`<div class="rvm-what">${point(sinceBeat < PEER_TIMEOUT)} ${what}</div>
      ${linesOf('', '', parts)}`,
  );
}

function point(isGood: boolean): TemplateResult {
  return html`<i class="fa fa-${pointIcon(isGood)}" aria-hidden="true"></i>`;
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
