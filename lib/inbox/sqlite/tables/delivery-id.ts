import { randomUUID } from 'node:crypto';

/** Made here: version 8 of RFC 9562, the layout of which is free. */
const OURS = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[\da-f]{4}-([\da-f]{12})$/;

/**
 * A UUID that ends in the sequence of its event, so that no index of delivery ids has to be written; before it the time, and 26
 * random bits, which tell it from that of another inbox.
 * @param sequence below 2 to the power of 48
 * @param time milliseconds since 1970
 */
export function makeDeliveryId(sequence: number, time: number): string {
  const at = hex(time);
  const random = randomUUID().slice(15, 24);
  return `${at.slice(0, 8)}-${at.slice(8)}-8${random}${hex(sequence)}`;
}

/** Undefined for that of an event that was spilled first, and for any other text. */
export function sequenceIn(deliveryId: string): number | undefined {
  const [, sequence] = OURS.exec(deliveryId) ?? [];
  return sequence === undefined ? undefined : Number.parseInt(sequence, 16);
}

function hex(number: number): string {
  return number.toString(16).padStart(12, '0');
}
