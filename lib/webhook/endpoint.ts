import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Inbox } from '../inbox/model';
import type { EventFilter } from '../message/event-filter';
import type { DeadLetter, ProvenMessage } from '../message/record';
import type { Problem, ProblemReason } from './problem';
import { readyStations, type ReadyStations, type ReceivingStation } from './proof/receiving-station';

/** Express middleware: answers a request by itself, or calls `next`. */
export type Middleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => unknown;

/** One live webhook address. */
export interface Endpoint {
  /** Consumer id in the inbox: an `endpointKey`. */
  id: string;
  /** Full path, such as `/remote-monitoring/abc`. */
  path: string;
  /** The stations of the endpoint. Undefined or empty = it cannot judge yet, and requests are held. */
  stations(): readonly ReceivingStation[] | undefined;
  /**
   * Calls back when `stations` may have changed: held requests wait for that. Returns a function that ends the subscription.
   */
  watch(changed: () => void): () => void;
  /** Key of the station of this process that an Agent User belongs to; it identifies a foreign event. */
  stationOfAgentUser(agentUserId: string): string | undefined;
  /** Current time of the clock of a station's service, in milliseconds since 1970; undefined where it is unknown. */
  serviceTimeOf?(stationKey: string): number | undefined;
  inbox: Inbox;
  /** Selects the events to take; absent: all. */
  filter?: EventFilter;
  /** Run after the raw bytes were captured and before they are judged. */
  middleware?: Middleware | undefined;
  /** Output 3. */
  onProblem(problem: Problem): void;
  /** Called for each refused message, while `onProblem` is called for one of a reason in 10 s. */
  onRefused?(reason: ProblemReason, origin: RequestOrigin): void;
  /** Called for each message that was proven and stored, with its problem for output 3, if there is one. */
  onAccepted?(problem: Problem | undefined, record: ProvenMessage | DeadLetter): void;
}

/** Time and sender of a request. */
export interface RequestOrigin {
  received: Date;
  /** Address of the sender, if known. */
  remoteAddress: string | undefined;
}

/**
 * Id of an endpoint in an inbox. Copies of a flow that were imported apart share it, unlike the ids of their nodes. A node id
 * contains no colon, so the two cannot be confused.
 * @param port as set in the listener; '' for Node-RED's own server, whatever its port
 * @param fullPath path of the requests
 */
export function endpointKey(port: string, fullPath: string): string {
  return `${port}:${matchingPath(fullPath)}`;
}

/**
 * Port and path of an endpoint, for people. A text that is no key, but the id of a node, is returned unchanged: events wait
 * under it while nodes exchange their paths.
 */
export function addressOfKey(key: string): { port: string; path: string } {
  const [, port = '', path = key] = /^(\d*):(\/.*)$/s.exec(key) ?? [];
  return { port, path };
}

const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path by which a request target is matched: exact and case-sensitive, nothing decoded or resolved, one trailing slash and
 * the query ignored. Of an absolute target (`POST http://other/path`) only the path counts, because the host of a request is
 * never a reason to trust it.
 */
export function matchingPath(target: string): string {
  const withoutOrigin = target.replace(ABSOLUTE_FORM, '');
  const [path = ''] = withoutOrigin.split('?', 1);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** An endpoint with the stations that can judge. */
export interface Ready {
  endpoint: Endpoint;
  stations: ReadyStations;
}

interface Sorted {
  listed: readonly ReceivingStation[];
  stations: ReadyStations;
}

/** Caches the sorted stations of each endpoint, which are needed for every message, until the stations change. */
export class ReadyEndpoints {
  readonly #last = new WeakMap<Endpoint, Sorted>();

  /** @returns undefined while no station of the endpoint can judge */
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
  return some.length === others.length && some.every((station, index) => isSame(station, others[index]));
}

/**
 * Compares without a loop over the properties, which would take three times as long: fifty stations are compared at each alarm.
 */
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
