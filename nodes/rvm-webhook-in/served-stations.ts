import type { NodeAPI } from 'node-red';
import { ChangeListeners } from '../../lib/concurrency/signals';
import type { UnseenProblems } from '../../lib/webhook/endpoint-health';
import { type Problem, samePhraseProblem } from '../../lib/webhook/problem';
import { onlyStation, readyStations, type ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { sortedNames, type Station, stationById, stationsOfCloud } from '../rvm-central-station/station';
import { type Properties, textOf } from '../support/settings';

/** The Central Stations that a *webhook in* serves, from one start of the flows to their stop: the chosen one, or all of a cloud. */
export class ServedStations {
  readonly #watchers = new ChangeListeners();
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

/** Which stations of a *webhook in* have one phrase with another station. */
export class SamePhrase {
  constructor(
    private readonly stations: ServedStations,
    private readonly problems: UnseenProblems,
  ) {}

  /** Of those stations and the others; '' where there are none. */
  get names(): string {
    return sortedNames(this.#sharing().flatMap((station) => [station, ...station.samePhrase.as]));
  }

  /** What tells of it, once each time it begins; a deploy is no such time. */
  begun(): Problem | undefined {
    const isCertain = this.stations.all.every(({ samePhrase }) => samePhrase.isCertain);
    if (!this.problems.sharePhrase(this.names, isCertain)) return undefined;
    return samePhraseProblem(onlyStation(this.#sharing()), new Date());
  }

  /** They are told one after the other, and the first of two tells of both. */
  #sharing(): Station[] {
    const { all } = this.stations;
    const named = new Set(all.flatMap(({ samePhrase }) => samePhrase.as));
    return all.filter((station) => station.samePhrase.as.length > 0 || named.has(station));
  }
}

/** Where the sandbox posts the alarms of the stations of a *webhook in*. */
export class SandboxEndpoints {
  readonly #stations = new Map<string, Station>();

  constructor(private readonly nodeId: string) {}

  /** @param url undefined until its server listens */
  tell(stations: readonly Station[], url: () => string | undefined): void {
    for (const station of stations) {
      const id = `${this.nodeId}/${station.key}`;
      this.#stations.set(id, station);
      station.setSandboxEndpoint(id, url);
    }
  }

  remove(): void {
    for (const [id, station] of this.#stations) station.removeSandboxEndpoint(id);
  }
}
