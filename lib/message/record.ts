import type { RvmEvent } from '../event';
import type { Envelope, Warning } from './envelope';
import type { FilterName } from './event-filter';

/** What is known of every authentic message: who sent it, who received it, and its exact content. Plain values only. */
export interface MessageRecord {
  /** Endpoint that received it, which is also its consumer. */
  endpointId: string;
  stationKey: string;
  stationName: string;
  sandbox: boolean;
  /** ISO 8601, UTC, with `Z`. */
  receivedTime: string;
  remoteAddress?: string;
  /** When a phrase that was corrected has proven it, likewise; absent where it was proven as it came. */
  provenTime?: string;
  /** SHA-256 (hex) of the content a resend repeats: of the payload, or of the whole body where no payload can be read. */
  fingerprint: string;
  /** The bytes as received, with any token blanked. */
  body: Uint8Array;
}

/** An authentic message that can be used. */
export interface ProvenMessage extends MessageRecord {
  /** Only an `event` is delivered, unless it is filtered; an `other` (unknown `payloadType`) is kept, and its repeats are known. */
  kind: 'event' | 'other';
  proof: 'hmac' | 'token';
  /** Which phrase of the station proved it. */
  secret: 'current' | 'previous';
  envelope: Envelope;
  event: RvmEvent;
  warnings: readonly Warning[];
  /** The filters of its webhook node that an event does not pass; absent where it passes all. */
  filteredBy?: readonly FilterName[];
}

/** True of what a flow gets: other messages are kept, and that is all. */
export function isForFlow(record: ProvenMessage | DeadLetter): record is ProvenMessage {
  return record.kind === 'event' && record.filteredBy === undefined;
}

/** An authentic message that is kept but not delivered. */
export interface DeadLetter extends MessageRecord {
  kind: 'dead-letter' | 'stale';
  reason: DeadLetterReason;
  /** Absent where the message has none; then the fingerprint tells a repeat. */
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
