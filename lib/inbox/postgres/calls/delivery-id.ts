import { randomUUID } from 'node:crypto';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** Of no event. */
const NONE = '00000000-0000-0000-0000-000000000000';

/**
 * A UUID of version 7 of RFC 9562: the time comes first, so that an index of them grows at its end.
 * @param time milliseconds since 1970
 */
export function makeDeliveryId(time: number): string {
  const at = time.toString(16).padStart(12, '0');
  return `${at.slice(0, 8)}-${at.slice(8)}-7${randomUUID().slice(15)}`;
}

/** The id as PostgreSQL can be asked for it; what a flow gives as one may be anything. */
export function askedId(deliveryId: string): string {
  return UUID.test(deliveryId) ? deliveryId : NONE;
}
