import type { RvmEvent } from '../event';
import type { Acceptance, Delivery } from '../inbox/inbox';
import { copyOfJson } from '../json/json';
import { SELF_TEST } from '../message/envelope';
import type { DeadLetter, DeadLetterReason, MessageRecord, ProvenMessage } from '../message/record';
import type { MeteredAnswer } from '../meter';
import type { ProofFailure } from './proof/authenticate';
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
  /** Of others than `compressed` the receiver tells no flow, *verify webhook* does. */
  | HeadRejection
  | 'raw-body-missing'
  | 'attempts'
  | 'rejected'
  | 'lease'
  | 'restart'
  | 'window'
  | 'store';

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
  /** Length of the body, in bytes. */
  bytes?: number;
  /** Requests this problem stands for: those held back since the last of its kind count in the next. */
  count: number;
  /** What the flow gave as its reason, of a rejected event; of `store`, what befell the inbox. */
  note?: string;
  /** True where it is over; only of `store`. */
  ended?: true;
  /** Only of an authentic message. */
  event?: RvmEvent;
}

const PROOF_REASONS: readonly (ProblemReason | null)[] = [
  'no-signature',
  'bad-signature',
  'bad-token',
] satisfies ProofFailure[];

/** True for the reasons that a phrase, or the scheme of an endpoint, entered wrongly has: the message was whole, and no phrase proved it. */
export function isRefusal(reason: ProblemReason | null): reason is ProofFailure {
  return PROOF_REASONS.includes(reason);
}

/** With these bytes begins what gzip has made (RFC 1952). */
const GZIP = Buffer.from([0x1f, 0x8b]);

/** What to tell of a message that nothing proves: of a body that is compressed, and does not say so, no phrase is the reason. */
export function toldReason(reason: ProofFailure, body: Uint8Array): ProblemReason {
  return GZIP.equals(body.subarray(0, GZIP.length)) ? 'compressed' : reason;
}

/**
 * What tells that an event is delivered again although the flow may have acted on it; undefined for a first delivery, and
 * where the flow asked for another.
 */
export function uncertainProblem(delivery: Delivery): Problem | undefined {
  const { again } = delivery;
  if (again !== 'lease' && again !== 'restart') return undefined;
  return { kind: 'uncertain', reason: again, ...describeDelivery(delivery) };
}

/** What tells that an event is a dead letter from now on. `note`: what the flow gave as its reason. */
export function deadProblem(delivery: Delivery, reason: 'attempts' | 'rejected', note?: string): Problem {
  return {
    kind: 'dead-letter',
    reason,
    ...describeDelivery(delivery),
    ...(note !== undefined && note !== '' && { note }),
  };
}

/** What tells that events wait because too many are unsettled. `station`: where the endpoint has but one. */
export function blockedProblem(
  waiting: number,
  station: { key: string; name: string } | undefined,
  now: Date,
): Problem {
  return {
    kind: 'blocked',
    reason: 'window',
    station: station?.key ?? null,
    stationName: station?.name ?? null,
    receivedTime: now.toISOString(),
    count: waiting,
  };
}

/** What tells that events are kept beside an inbox that fails, or, `isOver`, that all of them, `count`, are in it again. */
export function storeProblem(
  { count, isOver }: { count: number; isOver: boolean },
  station: { key: string; name: string } | undefined,
  now: Date,
): Problem {
  return {
    ...blockedProblem(count, station, now),
    reason: 'store',
    ...(isOver && { ended: true }),
  };
}

/**
 * What tells of something that befell the inbox as a whole.
 * @param note what it was, and what to do
 */
export function incidentProblem(
  note: string,
  isOver: boolean,
  station: { key: string; name: string } | undefined,
  now: Date,
): Problem {
  return { ...storeProblem({ count: 1, isOver }, station, now), note };
}

/** What tells that stations have one phrase. `station`: the one that the endpoint has of them, where it has but one. */
export function samePhraseProblem(station: { key: string; name: string } | undefined, now: Date): Problem {
  return {
    kind: 'same-phrase',
    reason: null,
    station: station?.key ?? null,
    stationName: station?.name ?? null,
    receivedTime: now.toISOString(),
    count: 1,
  };
}

/** What tells that no proven message has come for too long. `station`: where the endpoint has but one. */
export function silentProblem(station: { key: string; name: string } | undefined, now: Date): Problem {
  return { ...samePhraseProblem(station, now), kind: 'silent' };
}

/**
 * What tells of an accepted message that no output for events takes: dead letter, stale, conflict, unknown type. Undefined for
 * an event that is delivered, and for a repeat.
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

/** True for a message that this package has sent itself. */
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

/** The fields of a problem that tell of an authentic event. */
function describeEvent(event: RvmEvent | undefined): Pick<Problem, 'alarmId' | 'event'> {
  if (event === undefined) return {};
  return {
    ...(typeof event.alarmId === 'string' && { alarmId: event.alarmId }),
    event: copyOfJson(event),
  };
}

const KINDS: readonly MeteredAnswer[] = ['conflict', 'stale', 'dead-letter', 'other', 'self-test'];

/** As what a message counts that was proven and stored. @param problem what output 3 is told of it */
export function meteredAs(
  problem: Pick<Problem, 'kind'> | undefined,
  { outcome }: Pick<Acceptance, 'outcome'>,
  record: ProvenMessage | DeadLetter,
): MeteredAnswer {
  if (outcome === 'repeat') return 'repeat';
  const told = KINDS.find((kind) => kind === problem?.kind);
  return told ?? ('filteredBy' in record ? 'filtered' : 'accepted');
}
