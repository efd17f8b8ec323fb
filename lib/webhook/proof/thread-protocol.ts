import type { Authentication, RawMessage } from './authenticate';
import type { ReceivingStation } from './receiving-station';

/** What there is to prove: the bytes are the thread's own. */
export interface ProofJob extends Pick<RawMessage, 'authorization'> {
  body: Uint8Array<ArrayBuffer>;
  stations: readonly ReceivingStation[];
}

/** What the thread has found. It tells stations by their places in the list: no phrase comes back. */
export type FoundProof = Authentication<number>;

/** The same of other stations. */
export function withStations<From, To>(
  authentication: Authentication<From>,
  as: (station: From) => To,
): Authentication<To> {
  if (authentication.proven) return { ...authentication, station: as(authentication.station) };
  const { reason, burnt } = authentication;
  return { proven: false, reason, ...(burnt !== undefined && { burnt: as(burnt) }) };
}
