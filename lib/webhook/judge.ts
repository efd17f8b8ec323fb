import type { DeadLetter, DeadLetterReason, InboxRecord, ProvenMessage } from '../inbox/inbox';
import type { RvmEvent } from '../event';
import { blankedBody } from './blanked-body';
import type { ClockGuard } from './clock-guard';
import type { Endpoint } from './endpoint';
import { readEnvelope, type Envelope } from './envelope';
import { fingerprintOfBytes, fingerprintOfValue } from './fingerprint';
import { namesOtherAgentUser, warningsOf } from './oddities';
import type { ReceivingStation } from './station';
import { readTime } from '../time';
import { verify, type ProofReason, type Received, type Verdict } from './verify';

/** What a message is judged with, besides itself. */
export interface Court {
  endpointId: string;
  stations: readonly ReceivingStation[];
  stationOfAgentUser(agentUserId: string): string | undefined;
  clockGuard: ClockGuard;
  received: Date;
  remoteAddress?: string | undefined;
}

/** A request, as far as a judgement tells of it. */
export interface Arrival {
  received: Date;
  /** Address of the sender, as far as it is known. */
  sender: string | undefined;
}

/** What an endpoint adds to a judgement. */
export function courtOf(
  endpoint: Endpoint,
  stations: readonly ReceivingStation[],
  { received, sender }: Arrival,
): Omit<Court, 'clockGuard'> {
  return {
    endpointId: endpoint.id,
    stations,
    stationOfAgentUser: (agentUserId) => endpoint.stationOfAgentUser(agentUserId),
    received,
    remoteAddress: sender,
  };
}

export type Judgement =
  | { kind: 'unauthentic'; reason: ProofReason; burnt?: ReceivingStation }
  | { kind: 'unusable'; letter: DeadLetter }
  | { kind: 'usable'; message: ProvenMessage };

/** Resends end after 24 hours; anything sent longer ago than this is a replay. Milliseconds. */
const STALE_AFTER = 26 * 60 * 60 * 1000;

/** Authenticates the bytes, then reads them. Nothing is taken from a message that is not proven. */
export function judge(received: Received, court: Court): Judgement {
  const verdict = verify(received, court.stations);
  if (!verdict.proven) {
    return { kind: 'unauthentic', reason: verdict.reason, ...(verdict.burnt && { burnt: verdict.burnt }) };
  }
  return judgeProven(received, court, verdict);
}

function judgeProven(received: Received, court: Court, verdict: Verdict & { proven: true }): Judgement {
  const { station } = verdict;
  const json = received.json();
  const reading = readEnvelope(json);
  const record = recordOf(received, court, station);
  if (!reading.usable) {
    const { reason, event } = reading;
    return unusable({ ...record, fingerprint: fingerprintFor(received, event) }, reason, { event });
  }
  const { envelope, event, isAlarm } = reading;
  const proven = { fingerprint: fingerprintOfValue(event), ...record };
  const known = { event, messageId: envelope.messageId };
  if (isOfOtherStation(event, station, court)) return unusable(proven, 'agent-user', known);
  if (isStale(proven, envelope, event, court)) return unusable(proven, 'too-old', known);
  const { oddScheme, proof, secret } = verdict;
  const warnings = warningsOf({ json, envelope, event, station, oddScheme, received: court.received });
  const kind = isAlarm ? 'event' : 'other';
  return { kind: 'usable', message: { kind, proof, secret, envelope, event, warnings, ...proven } };
}

function recordOf(
  received: Received,
  court: Court,
  station: ReceivingStation,
): Omit<InboxRecord, 'fingerprint'> {
  return {
    endpointId: court.endpointId,
    stationKey: station.key,
    stationName: station.name,
    sandbox: station.sandbox,
    receivedTime: court.received.toISOString(),
    ...(court.remoteAddress !== undefined && { remoteAddress: court.remoteAddress }),
    body: blankedBody(received.body, received.json()),
  };
}

/** The part that a resend repeats; a resend under the same id renews `transmitTime` and the correlation id. */
function fingerprintFor(received: Received, event: RvmEvent | undefined): string {
  return event === undefined ? fingerprintOfBytes(received.body) : fingerprintOfValue(event);
}

function unusable(
  record: InboxRecord,
  reason: DeadLetterReason,
  known: { event?: RvmEvent | undefined; messageId?: string },
): Judgement {
  const { event, messageId } = known;
  const letter: DeadLetter = {
    ...record,
    kind: reason === 'too-old' ? 'stale' : 'dead-letter',
    reason,
    ...(messageId !== undefined && { messageId }),
    ...(event && { event }),
  };
  return { kind: 'unusable', letter };
}

/** Another Agent User alone is only odd; one of another configured station means that the message went astray. */
function isOfOtherStation(event: RvmEvent, station: ReceivingStation, court: Court): boolean {
  if (!namesOtherAgentUser(event, station) || typeof event.agentUserId !== 'string') return false;
  const owner = court.stationOfAgentUser(event.agentUserId);
  return owner !== undefined && owner !== station.key;
}

/** Age counts from `transmitTime`, which a sender renews; from the event's own times only where it is unreadable. */
function isStale({ sandbox }: InboxRecord, envelope: Envelope, event: RvmEvent, court: Court): boolean {
  const transmitTime = readTime(envelope.transmitTime);
  const sent = transmitTime ?? readTime(event.eventEndTime) ?? readTime(event.eventStartTime);
  // The sandbox goes by the clock of this machine, so it confirms nothing.
  const trusted = court.clockGuard.mayJudgeAge(sandbox ? undefined : transmitTime);
  return trusted && sent !== undefined && court.received.getTime() - sent.getTime() > STALE_AFTER;
}
