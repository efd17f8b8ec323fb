import { createHash } from 'node:crypto';
import type { MovedMessage } from './moved-message';

/** What of a message must be the same on both sides, bodies by their SHA-256 in hexadecimal digits; null where they are kept no more. */
export interface ComparedMessage extends Omit<
  MovedMessage,
  'sequence' | 'copy' | 'state' | 'age' | 'facts' | 'bytes'
> {
  state: string;
  factsDigest: string | null;
  bytesDigest: string | null;
}

/** A message of the file, to be compared. */
export function comparedMessage(message: MovedMessage): ComparedMessage {
  const { facts, bytes } = message;
  return {
    ...message,
    factsDigest: facts === null ? null : digestOf(facts),
    bytesDigest: bytes === null ? null : digestOf(bytes),
  };
}

/** One digest of all of it. */
export function digestOfMessage(message: ComparedMessage): string {
  const { deliveryId, station, id, named, fingerprint, endpoint, state, rank, attempt, cutOff, again } =
    message;
  const { first, ended, alarm, isEnd, received, factsDigest, bytesDigest } = message;
  const { delivered, settled, settledBy, judged, verdict, steps } = message;
  return digestOf(
    JSON.stringify([
      [deliveryId, station, id, named, fingerprint, endpoint, state, rank, attempt, cutOff, again],
      [first, ended, alarm, isEnd, received, factsDigest, bytesDigest],
      [
        delivered,
        settled,
        settledBy,
        judged,
        verdict,
        steps.map(({ place, time, ...step }) => [place, time, step]),
      ],
    ]),
  );
}

export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
