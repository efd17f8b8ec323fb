import type { RvmEvent } from '../event';
import type { Envelope, Warning } from './envelope';
import type { FilterName } from './event-filter';

/** The record of an authentic message: sender, receiver and exact content. Plain values only. */
export interface MessageRecord {
  /** Endpoint that received it, which is also the consumer. */
  endpointId: string;
  stationKey: string;
  stationName: string;
  sandbox: boolean;
  /** ISO 8601, UTC, with `Z`. */
  receivedTime: string;
  remoteAddress?: string;
  /** Time at which a corrected phrase proved it, in the same form; absent where it was proven at receipt. */
  provenTime?: string;
  /** SHA-256 (hex) of the content that a resend repeats: the payload, or the whole body where no payload can be read. */
  fingerprint: string;
  /** The bytes as received, with any token redacted. */
  body: Uint8Array;
}

/** An authentic message that can be used. */
export interface ProvenMessage extends MessageRecord {
  /**
   * Only an `event` is delivered, unless it is filtered; an `other` (unknown `payloadType`) is only stored, and its repeats are
   * recognised.
   */
  kind: 'event' | 'other';
  proof: 'hmac' | 'token';
  /** Which phrase of the station proved it. */
  secret: 'current' | 'previous';
  envelope: Envelope;
  event: RvmEvent;
  warnings: readonly Warning[];
  /** The filters of its webhook node that reject the event; absent where none does. */
  filteredBy?: readonly FilterName[];
}

/** True for a message that is delivered to a flow; others are only stored. */
export function isForFlow(record: ProvenMessage | DeadLetter): record is ProvenMessage {
  return record.kind === 'event' && record.filteredBy === undefined;
}

/** An authentic message that is stored but not delivered. */
export interface DeadLetter extends MessageRecord {
  kind: 'dead-letter' | 'stale';
  reason: DeadLetterReason;
  /** Absent where the message has none; then the fingerprint identifies a repeat. */
  messageId?: string;
  event?: RvmEvent;
}

export type DeadLetterReason =
  | 'not-json'
  | 'not-utf8'
  | 'too-large'
  | 'too-deep'
  | 'duplicate-key'
  | 'no-message-id'
  | 'agent-user'
  | 'too-old';
