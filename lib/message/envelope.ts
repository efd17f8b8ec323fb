import type { RvmEvent } from '../event';
import { isRecord } from '../json/json';
import { ENVELOPE_FIELDS, EVENT_FIELDS, withSpecifiedNames } from './field-names';
import type { JsonReading, UnreadableReason } from './json-reading';
import { isWellFormed } from '../text';

/** The fields of the envelope that a flow may see; null where absent or not a text. The token is not among them. */
export interface Envelope {
  messageId: string;
  payloadType: string;
  version: string | null;
  transmitTime: string | null;
  logCorrelationId: string | null;
}

/** Why an authentic message cannot be used. */
export type UnusableReason = UnreadableReason | 'no-message-id';

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
