import type { NodeAPI } from 'node-red';
import { readyStations, type ReceivingStation } from '../../../lib/webhook/proof/receiving-station';
import { Watchers } from '../../../lib/concurrency/signals';
import { stationById, stationsOfCloud, type Station } from '../../rvm-central-station/station';
import { textOf, type Properties } from '../../support/settings';

/** The Central Stations that a *webhook in* serves, from one start of the flows to their stop: the chosen one, or all of a cloud. */
export class ServedStations {
  readonly #watchers = new Watchers();
  #found: readonly Station[] = [];
  #unwatch: (() => void)[] = [];
  #areRunning = false;

  constructor(
    private readonly RED: NodeAPI,
    private readonly properties: Properties,
  ) {}

  /** True while the flows run. */
  get areRunning(): boolean {
    return this.#areRunning;
  }

  /** Those of this run; between two runs those that are there. */
  get all(): readonly Station[] {
    return this.#areRunning ? this.#found : this.#find();
  }

  /** By what a message is judged. None between two runs: a station may not be built yet, and its alarm would pass for a forgery. */
  receiving(): readonly ReceivingStation[] {
    return this.#areRunning ? this.#found.map((station) => station.receiving()) : [];
  }

  /** True where one of them can judge a message, or may yet. Of those that share a phrase none can: who sent it, nobody could say. */
  mayJudge(): boolean {
    if (!this.#areRunning || this.#found.some((station) => station.notReceiving() === 'not-ready'))
      return true;
    return readyStations(this.receiving()).ready.length > 0;
  }

  /** Calls back when there may be others, or what they can do may have changed. Returns the way to end that. */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  /** Only now do all nodes of the flow file exist. */
  flowsStarted(): void {
    this.#endWatch();
    this.#areRunning = true;
    this.#found = this.#find();
    this.#unwatch = this.#found.map((station) => station.watch(() => this.#watchers.tell()));
    this.#watchers.tell();
  }

  flowsStopping(): void {
    this.#endWatch();
    this.#areRunning = false;
  }

  #endWatch(): void {
    for (const unwatch of this.#unwatch.splice(0)) unwatch();
  }

  #find(): Station[] {
    const stationId = textOf(this.properties, 'station');
    if (stationId === '') return stationsOfCloud(this.RED, textOf(this.properties, 'cloud'));
    const station = stationById(this.RED, stationId);
    return station === undefined ? [] : [station];
  }
}
