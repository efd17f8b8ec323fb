import type { DeliveryTerms } from '../../lib/inbox/inbox';
import { numberOf, textOf, type Properties } from '../support/settings';

/** Each is held in memory. */
const MOST_IN_FLIGHT = 10_000;
/** Events that were sent, and are not marked as such yet: a moment, and a slow sync keeps none of those behind it waiting. */
const SENT_IN_FLIGHT = 500;

const HANDLED_WHEN: readonly string[] = ['', 'sent', 'settled'];

/** How the inbox hands out the events of a *webhook in*, as its properties have it. */
export function termsOf(properties: Properties): DeliveryTerms {
  const isSettled = textOf(properties, 'handledWhen') === 'settled';
  const maxInFlight = Math.floor(numberOf(properties, 'maxInFlight', 100, 1));
  return {
    handledWhen: isSettled ? 'settled' : 'sent',
    redeliverAfter: numberOf(properties, 'redeliverAfter', 120, 1) * 1000,
    maxAttempts: Math.floor(numberOf(properties, 'maxAttempts', 12, 1)),
    maxInFlight: isSettled ? Math.min(MOST_IN_FLIGHT, maxInFlight) : SENT_IN_FLIGHT,
  };
}

/** Hours without any proven message that are too many; 0 = none are. */
export function silentAfterOf(properties: Properties): number {
  return numberOf(properties, 'silentAfter', 0);
}

/** False for a word that says nothing of when an event is handled: the flow was edited by hand. */
export function saysWhenHandled(properties: Properties): boolean {
  return HANDLED_WHEN.includes(textOf(properties, 'handledWhen', 'sent'));
}
