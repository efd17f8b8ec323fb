import type { NodeAPI } from 'node-red';
import { ChangeListeners } from '../../lib/concurrency/signals';
import type { UnseenProblems } from '../../lib/webhook/unseen-problems';
import { endpointProblem, type Problem } from '../../lib/webhook/problem';
import { onlyStation, readyStations, type ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { sortedNames, type Station, stationById, stationsOfCloud } from '../rvm-central-station/station';
import { type Properties, textOf, type UnsetVariables } from '../support/settings';

/** The Central Stations of a *webhook in*, fixed from a start of the flows to their stop: the chosen one, or all of a cloud. */
export class ServedStations {
  readonly #watchers = new ChangeListeners();
  #found: readonly Station[] = [];
  #unwatch: (() => void)[] = [];
  #areRunning = false;

  /** @param unset variables of the node that are not set: without them it judges nothing */
  constructor(
    private readonly RED: NodeAPI,
    private readonly properties: Properties,
    private readonly unset?: UnsetVariables,
  ) {}

  get areRunning(): boolean {
    return this.#areRunning;
  }

  /** Stations of this run; between two runs those that exist at the moment. */
  get all(): readonly Station[] {
    return this.#areRunning ? this.#found : this.#find();
  }

  /** The station of what names none: the only one; undefined where there are several. */
  get only(): Station | undefined {
    return onlyStation(this.all);
  }

  /** Current time of the clock of a station's service, in milliseconds since 1970; undefined where it is unknown. */
  serviceTimeOf(stationKey: string): number | undefined {
    const { clockAhead } = this.all.find(({ key }) => key === stationKey) ?? {};
    return clockAhead === undefined ? undefined : Date.now() + clockAhead;
  }

  /**
   * Stations for judging a message. None between two runs: a station may not be built yet, and its alarm would be taken for a
   * forgery.
   */
  receiving(): readonly ReceivingStation[] {
    if (!this.#areRunning || this.unset !== undefined) return [];
    return this.#found.map((station) => station.receiving());
  }

  /**
   * True where a station can judge a message, or may soon. Stations that share a phrase cannot: the sender would be ambiguous.
   */
  mayJudge(): boolean {
    if (!this.#areRunning || this.#found.some((station) => station.notReceiving() === 'not-ready'))
      return true;
    return readyStations(this.receiving()).ready.length > 0;
  }

  /** Calls `changed` when the stations or their state may have changed. Returns a function that ends this. */
  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  /** Not earlier, because only now do all nodes of the flow file exist. */
  flowsStarted(): void {
    this.#endWatch();
    this.#areRunning = true;
    this.#found = this.#find();
    this.#unwatch = this.#found.map((station) => station.watch(() => this.#watchers.notify()));
    this.#watchers.notify();
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

/** Finds stations of a *webhook in* that have the same phrase as another station. */
export class SamePhrase {
  constructor(
    private readonly stations: ServedStations,
    private readonly problems: UnseenProblems,
  ) {}

  /** Names of those stations and of the others; '' where there are none. */
  get names(): string {
    return sortedNames(this.#sharing().flatMap((station) => [station, ...station.samePhrase.as]));
  }

  /** The problem to report, once each time the state begins; a deploy is no new begin. */
  begun(): Problem | undefined {
    const isCertain = this.stations.all.every(({ samePhrase }) => samePhrase.isCertain);
    if (!this.problems.sharePhrase(this.names, isCertain)) return undefined;
    return endpointProblem(onlyStation(this.#sharing()), { kind: 'same-phrase' });
  }

  /** Stations are notified one after the other, so a station named by another counts although it does not know yet. */
  #sharing(): Station[] {
    const { all } = this.stations;
    const named = new Set(all.flatMap(({ samePhrase }) => samePhrase.as));
    return all.filter((station) => station.samePhrase.as.length > 0 || named.has(station));
  }
}

/** Registers with the sandbox where to post alarms for the stations of a *webhook in*. */
export class SandboxEndpoints {
  readonly #stations = new Map<string, Station>();

  constructor(private readonly nodeId: string) {}

  /** @param url undefined until its server listens */
  notify(stations: readonly Station[], url: () => string | undefined): void {
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
