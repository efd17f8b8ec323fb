import { type RvmEvent, isEnd, isHealth } from '../event';
import { copyOfJson } from '../json/json';
import { readTime } from '../time';
import type { ProvenMessage } from './record';
import { summaryText } from './summary-text';
import type { Warning } from './warnings';

/** `msg.webhook`: what a flow can know of an event besides its own fields. Times are ISO 8601, UTC, with `Z`. */
export interface WebhookFacts {
  messageId: string;
  payloadType: string;
  version: string | null;
  transmitTime: string | null;
  logCorrelationId: string | null;
  receivedTime: string;
  /** Null where absent or unreadable. */
  startTime: string | null;
  endTime: string | null;
  /** Seconds at delivery since the end, or else the start; null where the event has neither. */
  ageSeconds: number | null;
  /** Received more than 5 minutes after the newer of start and end. */
  late: boolean;
  phase: 'start' | 'end';
  /** Null where what came before could not be read. */
  first: boolean | null;
  ended: boolean | null;
  /** Key of the Central Station. */
  station: string;
  stationName: string;
  proof: 'hmac' | 'token';
  secret: 'current' | 'previous';
  /** Null where no inbox has it. */
  deliveryId: string | null;
  /** Null where no inbox has it, or not yet. */
  sequence: number | null;
  attempt: number;
  sandbox: boolean;
  warnings: Warning[];
  /** One clean line of at most 160 characters. */
  text: string;
}

/** A message on output 1 or 2 of *webhook in*, and on output 1 of *verify webhook*. */
export interface EventMessage {
  payload: RvmEvent;
  /** A copy, so that later nodes may replace `payload`. */
  event: RvmEvent;
  topic: string;
  webhook: WebhookFacts;
  /** What later nodes add. */
  [property: string]: unknown;
}

/** An event on its way to a flow: a delivery of the inbox, or what was never in one and so has neither id nor number. */
export interface OutgoingEvent {
  message: ProvenMessage;
  deliveryId: string | null;
  sequence: number | null;
  attempt: number;
  first: boolean | null;
  ended: boolean | null;
}

const LATE_AFTER = 5 * 60 * 1000;
const ALARMS = 0;
const HEALTH = 1;

/** The message of an event, and the output of *webhook in* it leaves by: `health` the second, any other class the first. */
export function messageOf(outgoing: OutgoingEvent, now: Date): { output: 0 | 1; msg: EventMessage } {
  const { event } = outgoing.message;
  const { eventClass } = event;
  const msg: EventMessage = {
    payload: copyOfJson(event),
    event: copyOfJson(event),
    topic: typeof eventClass === 'string' ? eventClass : '',
    webhook: factsOf(outgoing, now),
  };
  return { output: isHealth(event) ? HEALTH : ALARMS, msg };
}

function factsOf(outgoing: OutgoingEvent, now: Date): WebhookFacts {
  const { message, deliveryId, sequence, attempt, first, ended } = outgoing;
  const { event, envelope, receivedTime, proof, secret, sandbox } = message;
  const { startTime, endTime, ageSeconds, late } = timesOf(event, receivedTime, now);
  // One field after the other: with spreads the object takes ten times as long to make.
  return {
    messageId: envelope.messageId,
    payloadType: envelope.payloadType,
    version: envelope.version,
    transmitTime: envelope.transmitTime,
    logCorrelationId: envelope.logCorrelationId,
    receivedTime,
    startTime,
    endTime,
    ageSeconds,
    late,
    phase: isEnd(event) ? 'end' : 'start',
    first,
    ended,
    station: message.stationKey,
    stationName: message.stationName,
    proof,
    secret,
    deliveryId,
    sequence,
    attempt,
    sandbox,
    warnings: [...message.warnings],
    text: summaryText(event, sandbox),
  };
}

function timesOf(
  event: RvmEvent,
  receivedTime: string,
  now: Date,
): Pick<WebhookFacts, 'startTime' | 'endTime' | 'ageSeconds' | 'late'> {
  const start = readTime(event.eventStartTime);
  const end = isEnd(event) ? readTime(event.eventEndTime) : undefined;
  const since = end ?? start;
  const newest = Math.max(start?.getTime() ?? -Infinity, end?.getTime() ?? -Infinity);
  return {
    startTime: start?.toISOString() ?? null,
    endTime: end?.toISOString() ?? null,
    ageSeconds: since === undefined ? null : Math.round((now.getTime() - since.getTime()) / 1000),
    late: Number.isFinite(newest) && Date.parse(receivedTime) - newest > LATE_AFTER,
  };
}
