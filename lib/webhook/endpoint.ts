import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Inbox } from '../inbox/inbox';
import type { EventFilter } from '../message/event-filter';
import type { DeadLetter, ProvenMessage } from '../message/record';
import type { Problem, ProblemReason } from './problem';
import type { ReceivingStation } from './proof/receiving-station';

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
