import type { Endpoint } from '../endpoint';
import { readyStations, type ReadyStations, type ReceivingStation } from '../proof/receiving-station';

/** By what a message is judged. */
export interface Ready {
  endpoint: Endpoint;
  stations: ReadyStations;
}

interface Sorted {
  listed: readonly ReceivingStation[];
  stations: ReadyStations;
}

/** What an endpoint is asked with each message; as long as its stations are the same, they are sorted out once. */
export class ReadyEndpoints {
  readonly #last = new WeakMap<Endpoint, Sorted>();

  /** The endpoint with the stations that can judge, once there is one. */
  of(endpoint: Endpoint | undefined): Ready | undefined {
    if (endpoint === undefined) return undefined;
    const stations = this.#sorted(endpoint, endpoint.stations() ?? []);
    return stations.ready.length === 0 ? undefined : { endpoint, stations };
  }

  #sorted(endpoint: Endpoint, listed: readonly ReceivingStation[]): ReadyStations {
    const last = this.#last.get(endpoint);
    if (last !== undefined && areSame(last.listed, listed)) return last.stations;
    const stations = readyStations(listed);
    this.#last.set(endpoint, { listed, stations });
    return stations;
  }
}

function areSame(some: readonly ReceivingStation[], others: readonly ReceivingStation[]): boolean {
  return some.length === others.length && some.every((station, place) => isSame(station, others[place]));
}

/** Without a loop over its properties, which would take three times as long: this is asked of fifty stations with each alarm. */
function isSame(one: ReceivingStation, other: ReceivingStation | undefined): boolean {
  return (
    one.secret === other?.secret &&
    one.previousSecret === other.previousSecret &&
    one.key === other.key &&
    one.name === other.name &&
    one.scheme === other.scheme &&
    one.agentUserId === other.agentUserId &&
    one.acceptBareSignature === other.acceptBareSignature &&
    one.sandbox === other.sandbox
  );
}
