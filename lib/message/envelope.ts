import { isIP } from 'node:net';
import { isEnd, type RvmEvent } from '../event';
import { isRecord } from '../json/json';
import { isWellFormed } from '../text';
import { readTime } from '../time';
import type { JsonReading, UnreadableReason } from './body';

/** Fields of the envelope that a flow may see, without the token; null where absent or not a text. */
export interface Envelope {
  messageId: string;
  payloadType: string;
  version: string | null;
  transmitTime: string | null;
  logCorrelationId: string | null;
}

/** Why an authentic message cannot be used. */
type UnusableReason = UnreadableReason | 'no-message-id';

export type EnvelopeReading =
  | { usable: true; envelope: Envelope; event: RvmEvent; isAlarm: boolean }
  /** `event` is set where the message has one. */
  | { usable: false; reason: UnusableReason; event?: RvmEvent };

/** The only type of central station webhooks (specification, section 2, Envelope). */
const ALARM_TYPE = 'blueevent';
/** Type of the message that tests a webhook from outside: from this package, not from the service. */
export const SELF_TEST = 'rvm-self-test';
/** Prefix of the id of such a message. */
export const SELF_TEST_ID = 'self-test-';
const MAX_MESSAGE_ID = 512;

/**
 * Reads an authentic message. Unknown fields, types and versions are accepted; a message is unusable only where it cannot be
 * read at all or has no id that identifies a repeat.
 */
export function readEnvelope(json: JsonReading): EnvelopeReading {
  if (json.problem !== undefined) return { usable: false, reason: json.problem };
  if (!isRecord(json.value)) return { usable: false, reason: 'not-json' };
  const fields = withSpecifiedNames(json.value, ENVELOPE_FIELDS);
  if (fields === undefined) return { usable: false, reason: 'duplicate-key' };
  const { payload, payloadType, version } = fields;
  const messageId = idOf(fields['messageId']);
  const event = isRecord(payload) ? withSpecifiedNames(payload, EVENT_FIELDS) : {};
  if (event === undefined) return { usable: false, reason: 'duplicate-key' };
  // Without a payload the whole body identifies a repeat: with an empty event all such messages would be
  // alike.
  const known = isRecord(payload) ? { event } : {};
  if (!isReadableType(payloadType) || !isReadableVersion(version))
    return { usable: false, reason: 'not-json', ...known };
  const isAlarm = payloadType.toLowerCase() === ALARM_TYPE;
  if (isAlarm && !isRecord(payload)) return { usable: false, reason: 'not-json' };
  if (!isUsableId(messageId)) return { usable: false, reason: 'no-message-id', ...known };
  const envelope = {
    messageId,
    payloadType,
    version: textOf(version),
    transmitTime: textOf(fields['transmitTime']),
    logCorrelationId: textOf(fields['logCorrelationId']),
  };
  return { usable: true, envelope, event, isAlarm };
}

function isReadableType(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isReadableVersion(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string' || typeof value === 'number';
}

/** No store can save half of a surrogate pair, and all halves would be alike: the id is stored in its escaped form. */
function idOf(value: unknown): unknown {
  return typeof value === 'string' && !isWellFormed(value) ? JSON.stringify(value) : value;
}

/** Used literally, neither trimmed nor folded; the limit bounds the keys of the store. */
function isUsableId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_MESSAGE_ID;
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : null;
}

/** Names of the specification, by the same name with a capital first letter. */
type SpecifiedNames = ReadonlyMap<string, string>;

/** Fields of the envelope (specification, section 2, Envelope). */
const ENVELOPE_FIELDS = specifiedNames(
  'payloadType',
  'version',
  'messageId',
  'transmitTime',
  'logCorrelationId',
  'authenticationToken',
  'payload',
);

/** Fields of the event (specification, section 2, Payload). */
const EVENT_FIELDS = specifiedNames(
  'version',
  'agentUserId',
  'agentUserTenantId',
  'alarmId',
  'alarmTenantId',
  'eventClass',
  'eventName',
  'eventType',
  'eventRuleName',
  'eventStartTime',
  'eventEndTime',
  'entityTenantId',
  'locationId',
  'locationName',
  'serverId',
  'serverName',
  'cameraId',
  'cameraName',
  'cameraRemoteId',
  'clipId',
  'clipUri',
  'gatewayId',
);

/**
 * A copy whose known fields have the names of the specification: samples write `Version`, so either case of the first letter is
 * accepted. Unknown fields are unchanged. Undefined where one field occurs in both spellings with different values, because it
 * is then unknown which was meant.
 */
function withSpecifiedNames(
  record: Readonly<Record<string, unknown>>,
  names: SpecifiedNames,
): Record<string, unknown> | undefined {
  const fields = Object.entries(record).map(([field, value]) => [names.get(field) ?? field, value] as const);
  const copy: Record<string, unknown> = Object.fromEntries(fields);
  const isAmbiguous = ([name, value]: readonly [string, unknown]): boolean =>
    value !== copy[name] && JSON.stringify(value) !== JSON.stringify(copy[name]);
  return fields.some(isAmbiguous) ? undefined : copy;
}

function specifiedNames(...names: string[]): SpecifiedNames {
  return new Map(names.map((name) => [name.charAt(0).toUpperCase() + name.slice(1), name]));
}

/**
 * Oddities of a message that was accepted all the same (`msg.webhook.warnings`).
 *
 * - `agent-user`: the event names another Agent User than the one configured for the station
 * - `scheme`: the proof does not fit the configured scheme (a signature at an `https` station, a token in a
 *   signed message)
 * - `clock-skew`: `transmitTime` lies more than 20 seconds in the future
 * - `clock-unconfirmed`: by our clock it was sent more than 26 hours ago, or ahead, and nothing has confirmed
 *   that clock
 * - `keys-stripped`: keys that would reach into object prototypes were removed
 * - `number-as-text`: a number that JavaScript cannot hold exactly became a text
 * - `unusual-version`: no version, or another major version than 1
 * - `time-unreadable`: a time of the message could not be read and is unchanged
 * - `clip-uri`: the clip address does not look like a public web address; this package does not fetch it
 * - `not-filtered`: the webhook node takes some events only, and this one lacks the field that the filter
 *   needs
 * - `not-in-inbox`: the inbox could not store it, so it was in the spill folder when it was delivered
 * - `may-repeat`: known ids could not be read, or some were lost with a file, so it may have been delivered
 *   before
 */
export type Warning =
  | 'agent-user'
  | 'scheme'
  | 'clock-skew'
  | 'clock-unconfirmed'
  | 'keys-stripped'
  | 'number-as-text'
  | 'unusual-version'
  | 'time-unreadable'
  | 'clip-uri'
  | 'not-filtered'
  | 'not-in-inbox'
  | 'may-repeat';

/** Everything the warnings of an accepted message depend on. */
interface WarningContext {
  json: JsonReading;
  envelope: Envelope;
  event: RvmEvent;
  /** Agent User of the station that proved it; '' = not checked. */
  agentUserId: string;
  oddScheme: boolean;
  /** True where its time is odd by a clock that nothing has confirmed. */
  clockUnconfirmed: boolean;
  received: Date;
}

/** A sender's clock may be ahead by this without a warning. Milliseconds. */
const TOLERATED_SKEW = 20_000;
const MAX_CLIP_URI = 2048;

/** The warnings of an accepted message, in a fixed order. */
export function warningsOf(context: WarningContext): Warning[] {
  const { json, envelope, event, agentUserId, oddScheme, clockUnconfirmed, received } = context;
  const found: [Warning, boolean][] = [
    ['agent-user', namesOtherAgentUser(event, agentUserId)],
    ['scheme', oddScheme],
    ['clock-skew', isAhead(envelope.transmitTime, received)],
    ['clock-unconfirmed', clockUnconfirmed],
    ['keys-stripped', json.keysStripped],
    ['number-as-text', json.numberAsText],
    ['unusual-version', !isUsualVersion(envelope.version)],
    ['time-unreadable', hasUnreadableTime(envelope, event)],
    ['clip-uri', isOddClipUri(event.clipUri)],
  ];
  return found.filter(([, applies]) => applies).map(([warning]) => warning);
}

/** True where the station's Agent User is configured and the event names another one. */
export function namesOtherAgentUser({ agentUserId: named }: RvmEvent, agentUserId: string): boolean {
  if (agentUserId === '' || typeof named !== 'string') return false;
  return named.toLowerCase() !== agentUserId.toLowerCase();
}

function isAhead(transmitTime: string | null, received: Date): boolean {
  const sent = readTime(transmitTime);
  return sent !== undefined && sent.getTime() - received.getTime() > TOLERATED_SKEW;
}

function isUsualVersion(version: string | null): boolean {
  return version !== null && /^1(?:\.|$)/.test(version);
}

function hasUnreadableTime(envelope: Envelope, event: RvmEvent): boolean {
  const start: unknown = event.eventStartTime;
  const hasStart = start !== undefined && start !== null && start !== '';
  if (readTime(envelope.transmitTime) === undefined) return true;
  if (hasStart && readTime(start) === undefined) return true;
  return isEnd(event) && readTime(event.eventEndTime) === undefined;
}

/** An IP address or `localhost` cannot be the address of a clip of the service. */
function isOddClipUri(clipUri: unknown): boolean {
  if (clipUri === undefined || clipUri === null || clipUri === '') return false;
  if (typeof clipUri !== 'string' || clipUri.length > MAX_CLIP_URI || !URL.canParse(clipUri)) return true;
  const { protocol, hostname } = new URL(clipUri);
  if (protocol !== 'https:' && protocol !== 'http:') return true;
  return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || hostname === 'localhost';
}
