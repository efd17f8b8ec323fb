import type { RvmEvent } from '../event';
import { redactedBody, fingerprintOfBytes, fingerprintOfValue } from '../message/body';
import { type Envelope, namesOtherAgentUser, readEnvelope, SELF_TEST, warningsOf } from '../message/envelope';
import { type EventFilter, judgeByFilter } from '../message/event-filter';
import type { DeadLetter, DeadLetterReason, MessageRecord, ProvenMessage } from '../message/record';
import { CLOCK_JUMP, readTime } from '../time';
import type { Endpoint, RequestOrigin } from './endpoint';
import type { ProofResult, ProofFailure, RawMessage } from './proof/authenticate';
import type { ReceivingStation } from './proof/receiving-station';
import { AGREEMENT, type ProvenTimes } from './proven-times';

/** Everything besides the message that a judgement depends on. */
interface JudgeContext {
  /** Who judges: its id, its filter, and what it knows of stations. */
  endpoint: Pick<Endpoint, 'id' | 'stationOfAgentUser' | 'serviceTimeOf' | 'filter'>;
  origin: RequestOrigin;
  clockGuard: ClockGuard;
  /** Proven times of the inbox; absent where there is no inbox, and for a message received long ago. */
  provenTimes?: ProvenTimes;
}

export type Judgement =
  | { kind: 'unauthentic'; reason: ProofFailure; leaked?: ReceivingStation }
  | ProvenJudgement;
export type ProvenJudgement =
  | { kind: 'unusable'; deadLetter: DeadLetter }
  | { kind: 'usable'; message: ProvenMessage };

/** The record of a proven message, which is stored. */
export function recordOf(judgement: ProvenJudgement): ProvenMessage | DeadLetter {
  return judgement.kind === 'usable' ? judgement.message : judgement.deadLetter;
}

/** Resends end after 24 hours; anything sent longer ago than this is a replay. Milliseconds. */
const STALE_AFTER = 26 * 60 * 60 * 1000;

/** Judges a message by the result of its authentication. Nothing is read from a message that is not proven. */
export function judge(message: RawMessage, authentication: ProofResult, context: JudgeContext): Judgement {
  if (!authentication.proven) {
    return {
      kind: 'unauthentic',
      reason: authentication.reason,
      ...(authentication.leaked && { leaked: authentication.leaked }),
    };
  }
  return judgeProven(message, context, authentication);
}

function judgeProven(
  message: RawMessage,
  context: JudgeContext,
  authentication: ProofResult & { proven: true },
): Judgement {
  const { station } = authentication;
  const json = message.json();
  const reading = readEnvelope(json);
  const record = factsOf(message, context, station);
  if (!reading.usable) {
    const { reason, event } = reading;
    return unusable({ ...record, fingerprint: fingerprintFor(message, event) }, reason, { event });
  }
  const { envelope, event, isAlarm } = reading;
  const proven = { fingerprint: fingerprintOfValue(event), ...record };
  const known = { event, messageId: envelope.messageId };
  if (isOfOtherStation(event, station, context)) return unusable(proven, 'agent-user', known);
  const age = ageOf(proven, envelope, event, context);
  if (age === 'too-old') return unusable(proven, age, known);
  const { oddScheme, proof, secret } = authentication;
  const warnings = warningsOf({
    json,
    envelope,
    event,
    agentUserId: station.agentUserId,
    oddScheme,
    clockUnconfirmed: age === 'unconfirmed',
    received: context.origin.received,
  });
  const kind = isAlarm ? 'event' : 'other';
  const usable = { kind, proof, secret, envelope, event, warnings, ...proven } as const;
  return { kind: 'usable', message: filtered(usable, context.endpoint.filter) };
}

/** Only events are filtered. */
function filtered(message: ProvenMessage, filter: EventFilter | undefined): ProvenMessage {
  if (filter === undefined || message.kind !== 'event') return message;
  const { filteredBy, isUnjudged } = judgeByFilter(filter, message.event);
  if (filteredBy.length > 0) return { ...message, filteredBy };
  return isUnjudged ? { ...message, warnings: [...message.warnings, 'not-filtered'] } : message;
}

function factsOf(
  message: RawMessage,
  { endpoint, origin: { received, remoteAddress } }: JudgeContext,
  station: ReceivingStation,
): Omit<MessageRecord, 'fingerprint'> {
  return {
    endpointId: endpoint.id,
    stationKey: station.key,
    stationName: station.name,
    sandbox: station.sandbox,
    receivedTime: received.toISOString(),
    ...(remoteAddress !== undefined && { remoteAddress }),
    body: redactedBody(message.body, message.json()),
  };
}

/** Hashes the part that a resend repeats; a resend under the same id renews `transmitTime` and the correlation id. */
function fingerprintFor(message: RawMessage, event: RvmEvent | undefined): string {
  return event === undefined ? fingerprintOfBytes(message.body) : fingerprintOfValue(event);
}

function unusable(
  record: MessageRecord,
  reason: DeadLetterReason,
  known: { event?: RvmEvent | undefined; messageId?: string },
): Judgement {
  const { event, messageId } = known;
  const deadLetter: DeadLetter = {
    ...record,
    kind: reason === 'too-old' ? 'stale' : 'dead-letter',
    reason,
    ...(messageId !== undefined && { messageId }),
    ...(event && { event }),
  };
  return { kind: 'unusable', deadLetter };
}

/** An unknown Agent User is only odd; the Agent User of another configured station means that the message went astray. */
function isOfOtherStation(event: RvmEvent, station: ReceivingStation, context: JudgeContext): boolean {
  if (!namesOtherAgentUser(event, station.agentUserId) || typeof event.agentUserId !== 'string') return false;
  const owner = context.endpoint.stationOfAgentUser(event.agentUserId);
  return owner !== undefined && owner !== station.key;
}

/**
 * Age counts from `transmitTime`, which a sender renews; from the event's own times only where it is unreadable. `too-old`: by
 * the proven times of the inbox, whatever our clock says, or by our clock once it is confirmed. `unconfirmed`: far off by our
 * clock, and it is not known which of the two is wrong.
 */
function ageOf(
  { stationKey, sandbox }: MessageRecord,
  envelope: Envelope,
  event: RvmEvent,
  context: JudgeContext,
): 'too-old' | 'unconfirmed' | 'good' {
  // This package sent the message, by our own clock.
  if (envelope.payloadType === SELF_TEST) return 'good';
  const { messageId } = envelope;
  const transmitTime = readTime(envelope.transmitTime);
  // The sandbox uses the clock of this machine, so it confirms nothing.
  const isTrusted = context.clockGuard.mayJudgeAge(sandbox ? undefined : transmitTime);
  const mark = context.provenTimes?.with(
    { key: stationKey, sandbox },
    transmitTime && { messageId, time: transmitTime.getTime() },
    context.endpoint.serviceTimeOf?.(stationKey),
  );
  const sent = transmitTime ?? readTime(event.eventEndTime) ?? readTime(event.eventStartTime);
  if (sent === undefined) return 'good';
  const age = context.origin.received.getTime() - sent.getTime();
  if ((mark ?? -Infinity) - sent.getTime() > STALE_AFTER || (isTrusted && age > STALE_AFTER))
    return 'too-old';
  return !isTrusted && Math.abs(age) > STALE_AFTER ? 'unconfirmed' : 'good';
}

/** No machine runs this package before this day: an earlier clock was never set. */
const EARLIEST_PLAUSIBLE = Date.UTC(2025, 0, 1);
/** No installation lasts so long: a later clock is wrong, and a single message that is wrong, too, must not confirm it. */
const LATEST_PLAUSIBLE = Date.UTC(2032, 0, 1);

/**
 * Says whether the wall clock may be used to call a message too old: only after an authentic message was sent at about the time
 * the clock shows, because two sources then agree. After a jump of the clock that has to happen anew.
 */
export class ClockGuard {
  #offset: number;
  #isClockDoubtful = true;

  /** @param monotonic monotonic clock, in milliseconds */
  constructor(
    private readonly wall: () => number,
    private readonly monotonic: () => number,
  ) {
    this.#offset = wall() - monotonic();
  }

  /** @param transmitTime of the current authentic message, if readable */
  mayJudgeAge(transmitTime: Date | undefined): boolean {
    const now = this.wall();
    const offset = now - this.monotonic();
    if (Math.abs(offset - this.#offset) > CLOCK_JUMP) this.#isClockDoubtful = true;
    this.#offset = offset;
    if (transmitTime !== undefined && Math.abs(now - transmitTime.getTime()) < AGREEMENT)
      this.#isClockDoubtful = false;
    return now >= EARLIEST_PLAUSIBLE && now < LATEST_PLAUSIBLE && !this.#isClockDoubtful;
  }
}
