import { isEnd, isHealth, type RvmEvent } from '../event';
import { copyOfJson } from '../json/json';
import { beginOf } from '../text';
import { readTime } from '../time';
import type { Warning } from './envelope';
import type { ProvenMessage } from './record';

/** `msg.webhook`: facts about an event besides its own fields. Times are ISO 8601, UTC, with `Z`. */
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
  /** Seconds from the end, or else the start, to the delivery; null where the event has neither. */
  ageSeconds: number | null;
  /** Received more than 5 minutes after the newer of start and end. */
  late: boolean;
  phase: 'start' | 'end';
  /** Null where earlier events could not be read. */
  first: boolean | null;
  ended: boolean | null;
  /** Key of the Central Station. */
  station: string;
  stationName: string;
  proof: 'hmac' | 'token';
  secret: 'current' | 'previous';
  /** Null for an event without an inbox. */
  deliveryId: string | null;
  /** Null for an event without an inbox, or not yet in it. */
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
  /** Added by later nodes. */
  [property: string]: unknown;
}

/**
 * An event to be sent to a flow: a delivery of the inbox, or an event that was never in one and has no delivery id and
 * sequence.
 */
interface OutgoingEvent {
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

/** The message of an event, and its output of *webhook in*: class `health` the second, any other class the first. */
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
  // Written field by field: with spreads the object takes ten times as long to create.
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

const MAX_LENGTH = 160;
const MAX_NAME = 60;
/** Control, format (direction marks and the like) and unpaired surrogate characters, line and paragraph separators. */
const UNCLEAN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
/** Colour and cursor codes of terminals. */
const ANSI = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, 'g');

/**
 * One clean line of at most 160 characters for mail, SMS and panels, such as `ALARM Intrusion - Harbour Depot / Gate 1 -
 * 2026-03-04 05:06:07Z`. An event of the sandbox starts with `SANDBOX`. The fixed text is plain ASCII, because one other
 * character halves the capacity of an SMS.
 */
export function summaryText(event: RvmEvent, sandbox: boolean): string {
  const what = [sandbox ? 'SANDBOX' : '', classWord(event), isEnd(event) ? 'END' : '', nameOf(event)];
  const location = [event.locationName, event.cameraName].map(cleanName).filter(Boolean).join(' / ');
  const head = [what.filter(Boolean).join(' '), location].filter(Boolean).join(' - ');
  const time = timeText(event);
  return time === '' ? shorten(head, MAX_LENGTH) : `${shorten(head, MAX_LENGTH - time.length - 3)} - ${time}`;
}

function classWord(event: RvmEvent): string {
  return isHealth(event) ? 'HEALTH' : 'ALARM';
}

function nameOf(event: RvmEvent): string {
  return cleanName(event.eventName) || cleanName(event.eventRuleName) || cleanName(event.eventType);
}

/** Time of the end, or else of the start. */
function timeText(event: RvmEvent): string {
  const time = (isEnd(event) ? readTime(event.eventEndTime) : undefined) ?? readTime(event.eventStartTime);
  return time === undefined ? '' : `${time.toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

function cleanName(value: unknown): string {
  if (typeof value !== 'string') return '';
  const clean = value.slice(0, 1000).replace(ANSI, ' ').replace(UNCLEAN, ' ').replace(/\s+/g, ' ').trim();
  return shorten(clean, MAX_NAME);
}

function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${beginOf(text, length - 3)}...`;
}
