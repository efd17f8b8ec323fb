import { isIP } from 'node:net';
import { type RvmEvent, isEnd } from '../event';
import { readTime } from '../time';
import type { Envelope } from './envelope';
import type { JsonReading } from './json-reading';

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
export interface WarningContext {
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
