import type { DeliveryTerms } from '../../lib/inbox/model';
import { type FilterIds, type FilterName, idsIn } from '../../lib/message/event-filter';
import { numberOf, type Properties, textOf } from '../support/settings';
import type { WebhookServer } from '../support/webhook-server';

/** Upper limit: each event in flight is in memory. */
const MOST_IN_FLIGHT = 10_000;
/** Events that were sent but not yet marked as sent: a short time, and a slow sync does not delay the events behind them. */
const SENT_IN_FLIGHT = 500;

const HANDLED_WHEN: readonly string[] = ['', 'sent', 'settled'];

/** Terms by which the inbox delivers events of a *webhook in*, from its properties. */
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

/** Hours without a proven message before a warning; 0 = never. */
export function silentAfterOf(properties: Properties): number {
  return numberOf(properties, 'silentAfter', 0);
}

/** False for an unknown value, which means that the flow was edited by hand. */
export function saysWhenHandled(properties: Properties): boolean {
  return HANDLED_WHEN.includes(textOf(properties, 'handledWhen', 'sent'));
}

/** Filter of a *webhook in*, from its properties. */
export function filterOf(properties: Properties): FilterIds {
  const ids = (name: FilterName): string[] => idsIn(textOf(properties, name));
  return { classes: ids('classes'), sites: ids('sites'), cameras: ids('cameras'), rules: ids('rules') };
}

/** URL of a full path as seen from this machine; undefined until the server listens. */
export function loopbackUrl(server: WebhookServer, path: string): string | undefined {
  const origin = server.loopbackOrigin();
  return origin === undefined ? undefined : `${origin}${path}`;
}

/** URL as the service sees it, where known; else as seen from this machine. */
export function webhookAddress(
  server: WebhookServer,
  properties: Properties,
  path: string,
): string | undefined {
  const base = textOf(properties, 'publicUrl').trim().replace(/\/+$/, '');
  return base === '' ? loopbackUrl(server, path) : `${base}${path}`;
}
