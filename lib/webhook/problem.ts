import type { RvmEvent } from '../event';
import type { DeadLetterReason, Delivery } from '../inbox/inbox';
import type { ProofReason } from './verify';

export type ProblemKind =
  'unauthentic' | 'dead-letter' | 'conflict' | 'stale' | 'uncertain' | 'blocked' | 'other' | 'self-test';

export type ProblemReason =
  | ProofReason
  | DeadLetterReason
  | 'raw-body-missing'
  | 'attempts'
  | 'rejected'
  | 'lease'
  | 'restart'
  | 'window';

/** What leaves output 3 of *webhook in*. Never holds a secret, a token or an `Authorization` value. */
export interface Problem {
  kind: ProblemKind;
  /** Null where the kind says it all. */
  reason: ProblemReason | null;
  /** Key and name of the station; null where nobody can say. */
  station: string | null;
  stationName: string | null;
  /** ISO 8601, UTC, with `Z`. */
  receivedTime: string;
  messageId?: string;
  alarmId?: string;
  deliveryId?: string;
  remoteAddress?: string;
  /** Length of the body. */
  bytes?: number;
  /** Requests this problem stands for: those held back since the last of its kind count in the next. */
  count: number;
  /** Only of an authentic message. */
  event?: RvmEvent;
}

/** What tells that an event is delivered again although the flow may have acted on it; undefined for a first delivery. */
export function uncertainProblem({ attempt, deliveryId, message }: Delivery): Problem | undefined {
  if (attempt === 1) return undefined;
  return {
    kind: 'uncertain',
    reason: 'restart',
    station: message.stationKey,
    stationName: message.stationName,
    receivedTime: message.receivedTime,
    messageId: message.envelope.messageId,
    deliveryId,
    ...(message.remoteAddress !== undefined && { remoteAddress: message.remoteAddress }),
    bytes: message.body.byteLength,
    count: 1,
    ...describeEvent(message.event),
  };
}

/** The fields of a problem that tell of an authentic event. */
export function describeEvent(event: RvmEvent | undefined): Pick<Problem, 'alarmId' | 'event'> {
  if (event === undefined) return {};
  return {
    ...(typeof event.alarmId === 'string' && { alarmId: event.alarmId }),
    event: structuredClone(event),
  };
}
