import type { Endpoint } from '../endpoint';
import { readyStations, type ReadyStations } from '../proof/receiving-station';

/** By what a message is judged. */
export interface Ready {
  endpoint: Endpoint;
  stations: ReadyStations;
}

/** The endpoint with the stations that can judge, once there is one. */
export function readyOf(endpoint: Endpoint | undefined): Ready | undefined {
  if (endpoint === undefined) return undefined;
  const stations = readyStations(endpoint.stations());
  return stations.ready.length === 0 ? undefined : { endpoint, stations };
}
