import type { RvmEvent } from '../event';
import type { DeadLetter, DeadLetterReason, Delivery, ProvenMessage } from '../inbox/inbox';
import type { Refusal } from './refusal';
import type { ProofReason } from './verify';

export type ProblemKind =
  'unauthentic' | 'dead-letter' | 'conflict' | 'stale' | 'uncertain' | 'blocked' | 'other' | 'self-test';

export type ProblemReason =
  | ProofReason
  | DeadLetterReason
  /** *verify webhook* only: of others the receiver tells no flow. */
  | Refusal
  | 'raw-body-missing'
  | 'attempts'
  | 'rejected'
  | 'lease'
  | 'restart'
  | 'window';

/** What leaves output 3 of *webhook in* and output 2 of *verify webhook*. Never holds a secret, a token or an `Authorization` value. */
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
  const described = describeRecord(message, message.body.byteLength, deliveryId);
  return { kind: 'uncertain', reason: 'restart', ...described };
}

/**
 * What a problem tells of an authentic message.
 * @param bytes length of the body as it came
 * @param deliveryId absent where no inbox has the message
 */
export function describeRecord(
  record: DeadLetter | ProvenMessage,
  bytes: number,
  deliveryId?: string,
): Omit<Problem, 'kind' | 'reason'> {
  const { stationKey, stationName, receivedTime, remoteAddress, event } = record;
  const messageId = 'envelope' in record ? record.envelope.messageId : record.messageId;
  return {
    station: stationKey,
    stationName,
    receivedTime,
    ...(messageId !== undefined && { messageId }),
    ...(typeof event?.alarmId === 'string' && { alarmId: event.alarmId }),
    ...(deliveryId !== undefined && { deliveryId }),
    ...(remoteAddress !== undefined && { remoteAddress }),
    bytes,
    count: 1,
    ...(event && { event: structuredClone(event) }),
  };
}
