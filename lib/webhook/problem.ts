import type { RvmEvent } from '../event';
import type { Acceptance, Delivery } from '../inbox/model';
import { copyOfJson } from '../json/json';
import { SELF_TEST } from '../message/envelope';
import type { DeadLetter, DeadLetterReason, MessageRecord, ProvenMessage } from '../message/record';
import type { MeteredAnswer } from '../meter';
import type { ProofFailure } from './proof/authenticate';
import type { ReceivingStation } from './proof/receiving-station';
import type { HeadRejection } from './request';

export const PROBLEM_KINDS = [
  'unauthentic',
  'dead-letter',
  'conflict',
  'stale',
  'uncertain',
  'blocked',
  'other',
  'self-test',
  'same-phrase',
  'silent',
] as const;
export type ProblemKind = (typeof PROBLEM_KINDS)[number];

export type ProblemReason =
  | ProofFailure
  | DeadLetterReason
  /** The receiver reports only `compressed` to a flow, *verify webhook* reports all. */
  | HeadRejection
  | 'raw-body-missing'
  | 'attempts'
  | 'rejected'
  | 'lease'
  | 'restart'
  | 'window'
  | 'store';

/**
 * Message of output 3 of *webhook in* and output 2 of *verify webhook*. Never contains a secret, a token or an `Authorization`
 * value.
 */
export interface Problem {
  kind: ProblemKind;
  /** Null where the kind needs no reason. */
  reason: ProblemReason | null;
  /** Key and name of the station; null where it is unknown. */
  station: string | null;
  stationName: string | null;
  /** ISO 8601, UTC, with `Z`. */
  receivedTime: string;
  messageId?: string;
  alarmId?: string;
  deliveryId?: string;
  remoteAddress?: string;
  /** Length of the body, in bytes. */
  bytes?: number;
  /** Number of requests this problem represents: suppressed ones since the last of its kind count in the next. */
  count: number;
  /** Of a rejected event: the reason that the flow set. Of `store`: what happened to the inbox. */
  note?: string;
  /** True where the problem is over; only of `store`. */
  ended?: true;
  /** Set only for an authentic message. */
  event?: RvmEvent;
}

const PROOF_REASONS: readonly (ProblemReason | null)[] = [
  'no-signature',
  'bad-signature',
  'bad-token',
] satisfies ProofFailure[];

/**
 * True for the reasons that a wrong phrase or a wrong scheme of an endpoint causes: the message was complete, and no phrase
 * proved it.
 */
export function isRefusal(reason: ProblemReason | null): reason is ProofFailure {
  return PROOF_REASONS.includes(reason);
}

/** First bytes of gzip data (RFC 1952). */
const GZIP = Buffer.from([0x1f, 0x8b]);

/**
 * The reason to report for an unproven message: a compressed body that is not declared as such fails for that, not for its
 * phrase.
 */
export function toldReason(reason: ProofFailure, body: Uint8Array): ProblemReason {
  return GZIP.equals(body.subarray(0, GZIP.length)) ? 'compressed' : reason;
}

/**
 * The problem of an event that is redelivered although the flow may have acted on it; undefined for a first delivery, and where
 * the flow requested the redelivery.
 */
export function uncertainProblem(delivery: Delivery): Problem | undefined {
  const { again } = delivery;
  if (again !== 'lease' && again !== 'restart') return undefined;
  return { kind: 'uncertain', reason: again, ...describeDelivery(delivery) };
}

/** The problem of an event that has become a dead letter. `note`: the reason that the flow set. */
export function deadProblem(delivery: Delivery, reason: 'attempts' | 'rejected', note?: string): Problem {
  return {
    kind: 'dead-letter',
    reason,
    ...describeDelivery(delivery),
    ...(note !== undefined && note !== '' && { note }),
  };
}

/**
 * A problem of an endpoint itself, or of a request that nothing proved, and that has come now.
 * @param station the one of the endpoint, where it has only one
 * @param facts its kind, and what else is known of it
 */
export function endpointProblem(
  station: Pick<ReceivingStation, 'key' | 'name'> | undefined,
  facts: Pick<Problem, 'kind'> & Partial<Problem>,
): Problem {
  return {
    reason: null,
    station: station?.key ?? null,
    stationName: station?.name ?? null,
    receivedTime: new Date().toISOString(),
    count: 1,
    ...facts,
  };
}

/**
 * The problem of events stored in the spill folder while the inbox fails; with `isOver`, all of them, `count`, are in the inbox
 * again. With `note`, of something else that happened to the inbox as a whole.
 */
export function storeProblem(
  { count, isOver, note }: { count: number; isOver: boolean; note?: string },
  station: Pick<ReceivingStation, 'key' | 'name'> | undefined,
): Problem {
  const ended = isOver ? ({ ended: true } as const) : {};
  return endpointProblem(station, {
    kind: 'blocked',
    reason: 'store',
    count,
    ...ended,
    ...(note !== undefined && { note }),
  });
}

/**
 * The problem of an accepted message that leaves by no output for events: dead letter, stale, conflict, unknown type. Undefined
 * for an event that is delivered, and for a repeat.
 */
export function acceptanceProblem(
  record: ProvenMessage | DeadLetter,
  { outcome, deliveryId }: Pick<Acceptance, 'outcome'> & Partial<Acceptance>,
): Problem | undefined {
  if (outcome === 'repeat' || (outcome === 'new' && record.kind === 'event')) return undefined;
  const messageId = 'envelope' in record ? record.envelope.messageId : record.messageId;
  return {
    ...kindAndReason(record, outcome),
    ...describeRecord(record),
    ...(deliveryId !== undefined && { deliveryId }),
    ...(messageId !== undefined && { messageId }),
    ...describeEvent(record.event),
  };
}

function kindAndReason(
  record: ProvenMessage | DeadLetter,
  outcome: 'new' | 'conflict',
): Pick<Problem, 'kind' | 'reason'> {
  if (isSelfTest(record)) return { kind: 'self-test', reason: null };
  const kind = outcome === 'conflict' || record.kind === 'event' ? 'conflict' : record.kind;
  return { kind, reason: 'reason' in record ? record.reason : null };
}

/** True for a self-test message of this package. */
export function isSelfTest(record: ProvenMessage | DeadLetter): boolean {
  return 'envelope' in record && record.kind === 'other' && record.envelope.payloadType === SELF_TEST;
}

function describeDelivery({
  deliveryId,
  message,
}: Delivery): ReturnType<typeof describeRecord> & Partial<Problem> {
  return {
    ...describeRecord(message),
    deliveryId,
    messageId: message.envelope.messageId,
    ...describeEvent(message.event),
  };
}

function describeRecord(
  record: MessageRecord,
): Pick<Problem, 'station' | 'stationName' | 'receivedTime' | 'remoteAddress' | 'bytes' | 'count'> {
  return {
    station: record.stationKey,
    stationName: record.stationName,
    receivedTime: record.receivedTime,
    ...(record.remoteAddress !== undefined && { remoteAddress: record.remoteAddress }),
    bytes: record.body.byteLength,
    count: 1,
  };
}

/** The fields of a problem that describe an authentic event. */
function describeEvent(event: RvmEvent | undefined): Pick<Problem, 'alarmId' | 'event'> {
  if (event === undefined) return {};
  return {
    ...(typeof event.alarmId === 'string' && { alarmId: event.alarmId }),
    event: copyOfJson(event),
  };
}

const KINDS: readonly MeteredAnswer[] = ['conflict', 'stale', 'dead-letter', 'other', 'self-test'];

/** How a message that was proven and stored is counted. @param problem its problem for output 3 */
export function meteredAs(
  problem: Pick<Problem, 'kind'> | undefined,
  { outcome }: Pick<Acceptance, 'outcome'>,
  record: ProvenMessage | DeadLetter,
): MeteredAnswer {
  if (outcome === 'repeat') return 'repeat';
  const known = KINDS.find((kind) => kind === problem?.kind);
  return known ?? ('filteredBy' in record ? 'filtered' : 'accepted');
}
