import { sequenceIn } from './delivery-id';
import type { Statements } from './statements';

/** An event, as statements name one. */
export type OneEvent = [sequence: number, deliveryId: string];

export function oneEvent(statements: Statements, deliveryId: string): OneEvent {
  const sequence = sequenceIn(deliveryId) ?? statements.spilledFirst.get(deliveryId)?.['sequence'];
  return [Number(sequence ?? 0), deliveryId];
}
