import type { DeliveryTerms } from '../../lib/inbox/inbox';
import { type FilterIds, type FilterName, idsIn } from '../../lib/message/event-filter';
import { numberOf, type Properties, textOf } from '../support/settings';
import type { WebhookServer } from '../support/webhook-server';

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

/** Which events a *webhook in* is to take, as its properties have it. */
export function filterOf(properties: Properties): FilterIds {
  const ids = (name: FilterName): string[] => idsIn(textOf(properties, name));
  return { classes: ids('classes'), sites: ids('sites'), cameras: ids('cameras'), rules: ids('rules') };
}

/** The address of a full path as this machine sees it; undefined until its server listens. */
export function loopbackUrl(server: WebhookServer, path: string): string | undefined {
  const origin = server.loopbackOrigin();
  return origin === undefined ? undefined : `${origin}${path}`;
}

/** As the service sees it, where that is known; else as this machine does. */
export function webhookAddress(
  server: WebhookServer,
  properties: Properties,
  path: string,
): string | undefined {
  const base = textOf(properties, 'publicUrl').trim().replace(/\/+$/, '');
  return base === '' ? loopbackUrl(server, path) : `${base}${path}`;
}
