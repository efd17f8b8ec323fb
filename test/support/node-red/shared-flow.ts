import type { FlowNode } from './node-red';
import { webhookFlow } from './flows';

/** An inbox node in PostgreSQL, without TLS, as the servers of the tests have it. */
export function sharedInbox(connection: string, properties: Record<string, unknown> = {}): FlowNode {
  return {
    id: 'inbox',
    type: 'rvm-inbox',
    name: '',
    engine: 'postgres',
    schema: 'rvm',
    tls: 'off',
    instanceName: '',
    credentials: { connection },
    ...properties,
  };
}

/** A flow whose *webhook in* has its events in PostgreSQL. */
export function sharedFlow(
  connection: string,
  changes: { inbox?: Record<string, unknown>; webhook?: Record<string, unknown> } = {},
  ...further: FlowNode[]
): FlowNode[] {
  const webhook = { inbox: 'inbox', ...changes.webhook };
  return webhookFlow({ webhook }, sharedInbox(connection, changes.inbox), ...further);
}
