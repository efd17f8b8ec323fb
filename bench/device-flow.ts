import { cloud, PHRASE, station } from '../test/support/node-red/flows';
import type { FlowNode } from '../test/support/node-red/node-red';
import type { PagedService } from './paged-service';

/** A flow around nodes that ask such a service. */
export function deviceFlow(service: PagedService, ...nodes: FlowNode[]): FlowNode[] {
  const { apiKey, username, password } = service.account;
  return [
    { id: 'tab', type: 'tab', label: 'benchmark' },
    // No refresh but those that are measured.
    cloud({ url: service.url, deviceRefresh: 0, credentials: { apiKey } }),
    station({ credentials: { username, password, secret: PHRASE } }),
    ...nodes,
  ];
}
