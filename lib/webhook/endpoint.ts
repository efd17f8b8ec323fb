import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Inbox } from '../inbox/inbox';
import type { EventFilter } from '../message/event-filter';
import type { DeadLetter, ProvenMessage } from '../message/record';
import type { Problem, ProblemReason } from './problem';
import { readyStations, type ReadyStations, type ReceivingStation } from './proof/receiving-station';

/** A function of the kind Express calls middleware: answers by itself, or hands on with `next`. */
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
  /** The stations it serves. Undefined or empty = it cannot judge yet, and requests are held. */
  stations(): readonly ReceivingStation[] | undefined;
  /** Calls back when `stations` may have changed, for requests are held for that; returns the way to end it. */
  watch(changed: () => void): () => void;
  /** Key of the station of this process that an Agent User belongs to, to tell a foreign event. */
  stationOfAgentUser(agentUserId: string): string | undefined;
  /** What the clock of the service of a station shows now, in milliseconds since 1970; undefined where nothing has told. */
  serviceTimeOf?(stationKey: string): number | undefined;
  inbox: Inbox;
  /** Which events it takes; absent: all. */
  filter?: EventFilter;
  /** Run after the raw bytes were captured and before they are judged. */
  middleware?: Middleware | undefined;
  /** Output 3. */
  onProblem(problem: Problem): void;
  /** Told of each message that is refused, where `onProblem` is told of one for a reason in 10 s. */
  onRefused?(reason: ProblemReason, origin: RequestOrigin): void;
  /** Told of each message that was proven and stored, with what output 3 tells of it, if it does. */
  onAccepted?(problem: Problem | undefined, record: ProvenMessage | DeadLetter): void;
}

/** When a request came, and from where. */
export interface RequestOrigin {
  received: Date;
  /** Address of the sender, as far as it is known. */
  remoteAddress: string | undefined;
}

/**
 * By what inboxes know an endpoint: copies of a flow, imported apart, have it in common, unlike the ids of their nodes. A node's id
 * holds no colon, so that none is taken for the other.
 * @param port as it is set in the listener; '' for Node-RED's own server, whichever port that has
 * @param fullPath as requests come by it
 */
export function endpointKey(port: string, fullPath: string): string {
  return `${port}:${matchingPath(fullPath)}`;
}

/** The port and the path of an endpoint, for people. What is no key, but the id of a node, is given as it is: events wait there while nodes exchange their paths. */
export function placeOfKey(key: string): { port: string; path: string } {
  const [, port = '', path = key] = /^(\d*):(\/.*)$/s.exec(key) ?? [];
  return { port, path };
}

const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path by which a request target is matched: exact and case-sensitive, nothing decoded or resolved,
 * one trailing slash and the query ignored. An absolute target (`POST http://other/path`) counts by its
 * path alone, because the host of a request is never a reason to trust it.
 */
export function matchingPath(target: string): string {
  const withoutOrigin = target.replace(ABSOLUTE_FORM, '');
  const [path = ''] = withoutOrigin.split('?', 1);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

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
