import { type Endpoint, endpointKey } from '../../../lib/webhook/endpoint';
import type { StatusName } from '../../support/status';
import type { WebhookServer } from '../../support/webhook-server';
import { fullPath } from './full-path';

/**
 * Opens an endpoint at a server, or says why that cannot be; undefined where the status tells that already.
 * @param path as it is entered in the node
 */
export function openEndpoint(
  server: WebhookServer,
  path: string,
  further: Omit<Endpoint, 'id' | 'path' | 'middleware'>,
): { endpoint: Endpoint } | { fault: StatusName } | undefined {
  const { port } = server;
  const reading = fullPath(server, path);
  if (reading === undefined || port === undefined) return undefined;
  if ('fault' in reading) return reading;
  const id = endpointKey(port, reading.path);
  // On another address of this machine: the inbox could not tell their events apart.
  if (further.inbox.hasConsumer(id)) return { fault: 'pathInUse' };
  const endpoint = { ...further, id, path: reading.path, middleware: server.middleware() };
  return server.dispatcher.add(endpoint) ? { endpoint } : { fault: 'pathInUse' };
}
