import type { DeliveryTerms } from '../../lib/inbox/inbox';
import { numberOf, textOf, type Properties } from '../support/settings';

/** Each is held in memory. */
const MOST_IN_FLIGHT = 10_000;

const HANDLED_WHEN: readonly string[] = ['', 'sent', 'settled'];

/** How the inbox hands out the events of a *webhook in*, as its properties have it. */
export function termsOf(properties: Properties): DeliveryTerms {
  return {
    handledWhen: textOf(properties, 'handledWhen') === 'settled' ? 'settled' : 'sent',
    redeliverAfter: numberOf(properties, 'redeliverAfter', 120, 1) * 1000,
    maxAttempts: Math.floor(numberOf(properties, 'maxAttempts', 12, 1)),
    maxInFlight: Math.min(MOST_IN_FLIGHT, Math.floor(numberOf(properties, 'maxInFlight', 100, 1))),
  };
}

/** False for a word that says nothing of when an event is handled: the flow was edited by hand. */
export function saysWhenHandled(properties: Properties): boolean {
  return HANDLED_WHEN.includes(textOf(properties, 'handledWhen', 'sent'));
}
