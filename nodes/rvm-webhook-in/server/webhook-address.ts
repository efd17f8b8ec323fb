import { textOf, type Properties } from '../../support/settings';
import type { WebhookServer } from '../../support/webhook-server';

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
