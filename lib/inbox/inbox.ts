import type { RvmEvent } from '../event';
import type { Envelope } from '../webhook/envelope';
import type { Warning } from '../webhook/warning';

/** What every record of the inbox carries: who sent it, where it arrived, and its exact content. Plain values only. */
export interface InboxRecord {
  /** Endpoint it arrived at, which is also its consumer. */
  endpointId: string;
  stationKey: string;
  stationName: string;
  sandbox: boolean;
  /** ISO 8601, UTC, with `Z`. */
  receivedTime: string;
  remoteAddress?: string;
  /** SHA-256 (hex) of the content a resend repeats: of the payload, or of the whole body where no payload can be read. */
  fingerprint: string;
  /** The bytes as received, with any token blanked. */
  body: Uint8Array;
}

/** An authentic message that can be used. */
export interface ProvenMessage extends InboxRecord {
  /** Only an `event` is delivered; an `other` (unknown `payloadType`) is remembered by its id alone. */
  kind: 'event' | 'other';
  proof: 'hmac' | 'token';
  /** Which phrase of the station proved it. */
  secret: 'current' | 'previous';
  envelope: Envelope;
  event: RvmEvent;
  warnings: readonly Warning[];
}

/** An authentic message that is kept but not delivered. */
export interface DeadLetter extends InboxRecord {
  kind: 'dead-letter' | 'stale';
  reason: DeadLetterReason;
  /** Absent where the message has none; then the fingerprint tells a repeat. */
  messageId?: string;
  event?: RvmEvent;
}

export type DeadLetterReason =
  'not-json' | 'not-utf8' | 'too-deep' | 'duplicate-key' | 'no-message-id' | 'agent-user' | 'too-old';

/** What became of a message handed to the inbox. */
export interface Acceptance {
  /** `repeat`: known with this content. `conflict`: its id is known with other content; both are kept. */
  outcome: 'new' | 'repeat' | 'conflict';
  /** Stable id of the record: of the first copy for a repeat, of the message itself otherwise. */
  deliveryId: string;
}

/** An event on its way to its consumer. */
export interface Delivery {
  /** The same over all deliveries of this event. */
  deliveryId: string;
  /** Grows from event to event, with gaps. */
  sequence: number;
  /** Counts from 1. */
  attempt: number;
  /** True for the first event of its alarm. */
  first: boolean;
  /** True where an end of this alarm was accepted before this event. */
  ended: boolean;
  message: ProvenMessage;
}

/**
 * The store every authentic message enters before it is acknowledged. The key of a message is (station key,
 * `messageId`): never the id alone, or one station could swallow the alarm of another.
 */
export interface Inbox {
  /**
   * Resolves when the message is as durable as this inbox makes it. Calling it again with the same message is safe.
   * @throws RvmError `STORE_FAILED` where it cannot be kept; then it must not be acknowledged.
   */
  accept(message: ProvenMessage): Promise<Acceptance>;

  /**
   * Keeps an authentic message that cannot be used. A `repeat` is one whose id and content are known, in whatever state.
   * @throws RvmError `STORE_FAILED` as `accept` does.
   */
  acceptDeadLetter(letter: DeadLetter): Promise<Acceptance>;

  /**
   * Registers the one consumer of an endpoint; a later one replaces it. Events come in order of acceptance; those that
   * arrive while there is no consumer wait for it. An event counts as handled a moment after `deliver` has returned; one
   * whose consumer goes before that is delivered again to the next, with a higher `attempt`.
   * Returns the way to unsubscribe.
   */
  consume(endpointId: string, deliver: (delivery: Delivery) => void): () => void;

  /** Ends deliveries. What is durable stays; messages are no longer accepted. */
  close(): Promise<void>;
}
