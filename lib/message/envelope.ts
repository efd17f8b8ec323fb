import { isIP } from 'node:net';
import { isEnd, type RvmEvent } from '../event';
import { isRecord } from '../json/json';
import { isWellFormed } from '../text';
import { readTime } from '../time';
import type { JsonReading, UnreadableReason } from './body';

/** The fields of the envelope that a flow may see; null where absent or not a text. The token is not among them. */
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
  /** `event` as far as the message has one. */
  | { usable: false; reason: UnusableReason; event?: RvmEvent };

/** For central station webhooks always this one (specification, section 2, Envelope). */
const ALARM_TYPE = 'blueevent';
/** Of the message that tests a webhook from outside: ours, not the service's. */
export const SELF_TEST = 'rvm-self-test';
/** How the id of such a message begins. */
export const SELF_TEST_ID = 'self-test-';
const MAX_MESSAGE_ID = 512;

/**
 * Reads an authentic message. Unknown fields, types and versions are taken as they come; a message is unusable
 * only where it cannot be read at all or has no id to tell a repeat by.
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
  // Without a payload the whole body tells a repeat: to an empty event all of them would look alike.
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

/** Half of a surrogate pair is no character that a store could keep, and all of them would be one: it is kept in its escaped form. */
function idOf(value: unknown): unknown {
  return typeof value === 'string' && !isWellFormed(value) ? JSON.stringify(value) : value;
}

/** Taken literally, neither trimmed nor folded; the cap keeps keys of the store bounded. */
function isUsableId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_MESSAGE_ID;
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : null;
}

/** Names of the specification, by the same with a capital first letter. */
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
 * A copy whose known fields carry the names of the specification: samples write `Version`, so either case of
 * the first letter is taken. Unknown fields are kept as they are. Undefined where one field comes in both
 * spellings with different values: then nobody can say which was meant.
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
 * What is odd about a message that was accepted all the same (`msg.webhook.warnings`).
 *
 * - `agent-user`: the event names another Agent User than the one configured for the station
 * - `scheme`: the proof does not fit the configured scheme (a signature at an `https` station, a token in a signed message)
 * - `clock-skew`: `transmitTime` lies more than 20 seconds in the future
 * - `clock-unconfirmed`: by our clock it was sent more than 26 hours ago, or ahead, and nothing has confirmed that clock
 * - `keys-stripped`: keys that would reach into object prototypes were removed
 * - `number-as-text`: a number that JavaScript cannot hold exactly was kept as text
 * - `unusual-version`: no version, or another major version than 1
 * - `time-unreadable`: a time of the message could not be read and was left as it is
 * - `clip-uri`: the clip address does not look like a public web address; nothing here fetches it
 * - `not-filtered`: the webhook node takes some events only, and this one lacks the field by which that is decided
 * - `not-in-inbox`: the inbox could not store it, so it was kept in the spill folder when it left
 * - `may-repeat`: which ids are known could not be read, or some were lost with a file, so it may have left before
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

/** What an accepted message is checked against for its warnings. */
interface WarningContext {
  json: JsonReading;
  envelope: Envelope;
  event: RvmEvent;
  /** Agent User of the station that proved it; '' = not checked. */
  agentUserId: string;
  oddScheme: boolean;
  /** Whether its time is odd by a clock that nothing has confirmed. */
  clockUnconfirmed: boolean;
  received: Date;
}

/** A sender's clock may run ahead this far without a word. Milliseconds. */
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

/** An address of a machine or a network nearby is no place for a clip of the service. */
function isOddClipUri(clipUri: unknown): boolean {
  if (clipUri === undefined || clipUri === null || clipUri === '') return false;
  if (typeof clipUri !== 'string' || clipUri.length > MAX_CLIP_URI || !URL.canParse(clipUri)) return true;
  const { protocol, hostname } = new URL(clipUri);
  if (protocol !== 'https:' && protocol !== 'http:') return true;
  return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || hostname === 'localhost';
}
