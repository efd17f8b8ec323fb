import type { FlowNode } from './node-red';
import { probe, watched } from './node-red';

export const PHRASE = 'correct horse battery staple';
export const PATH = '/remote-monitoring/test';

/**
 * A cloud with an address of its own; by default one where nothing listens, which nobody asks for a sign of life: what a
 * test sees must not depend on how long it takes.
 */
export function cloud(properties: Record<string, unknown> = {}): FlowNode {
  return {
    id: 'cloud',
    type: 'rvm-cloud',
    name: '',
    url: 'http://127.0.0.1:9',
    timeout: 5,
    signOfLife: 0,
    credentials: { apiKey: 'key-of-the-test' },
    ...properties,
  };
}

export function station(properties: Record<string, unknown> = {}): FlowNode {
  return {
    id: 'station',
    type: 'rvm-central-station',
    name: 'North',
    key: 'north',
    cloud: 'cloud',
    scheme: 'http',
    credentials: { username: 'agent', password: 'password-of-the-test', secret: PHRASE },
    ...properties,
  };
}

export function webhookIn(properties: Record<string, unknown> = {}): FlowNode {
  return {
    id: 'webhook',
    type: 'rvm-webhook-in',
    z: 'tab',
    name: '',
    station: 'station',
    cloud: '',
    path: PATH,
    x: 0,
    y: 0,
    wires: [['alarms'], ['health'], ['problems']],
    ...properties,
  };
}

/** A whole flow file around one webhook in node. */
export function webhookFlow(
  changes: {
    cloud?: Record<string, unknown>;
    station?: Record<string, unknown>;
    webhook?: Record<string, unknown>;
  } = {},
  ...further: FlowNode[]
): FlowNode[] {
  return watched(
    cloud(changes.cloud),
    station(changes.station),
    webhookIn(changes.webhook),
    probe('alarms'),
    probe('health'),
    probe('problems'),
    ...further,
  );
}
