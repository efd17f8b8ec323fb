import assert from 'node:assert/strict';
import { type FlowNode, flowNode, probes, watched } from './node-red';

export const PHRASE = 'correct horse battery staple';
export const PATH = '/remote-monitoring/test';

/**
 * A cloud with an address of its own; by default one where nothing listens, which nobody asks for a sign of life: what a
 * test sees must not depend on how long it takes.
 */
export function cloud(properties: Record<string, unknown> = {}): FlowNode {
  const usual = { url: 'http://127.0.0.1:9', timeout: 5, signOfLife: 0 };
  const credentials = { apiKey: 'key-of-the-test' };
  return { id: 'cloud', type: 'rvm-cloud', name: '', ...usual, credentials, ...properties };
}

export function station(properties: Record<string, unknown> = {}): FlowNode {
  const usual = { name: 'North', key: 'north', cloud: 'cloud', scheme: 'http' };
  const credentials = { username: 'agent', password: 'password-of-the-test', secret: PHRASE };
  return { id: 'station', type: 'rvm-central-station', ...usual, credentials, ...properties };
}

export function listenerNode(properties: Record<string, unknown> = {}): FlowNode {
  return { id: 'listener', type: 'rvm-listener', name: '', host: '127.0.0.1', tls: '', ...properties };
}

export function webhookIn(properties: Record<string, unknown> = {}): FlowNode {
  const targets = [['alarms'], ['health'], ['problems']];
  const usual = { name: '', station: 'station', cloud: '', path: PATH };
  return flowNode('webhook', 'rvm-webhook-in', targets, { ...usual, ...properties });
}

export function webhookFlow(
  changes: Partial<Record<'cloud' | 'station' | 'webhook', Record<string, unknown>>> = {},
  ...further: FlowNode[]
): FlowNode[] {
  return watched(
    cloud(changes.cloud),
    station(changes.station),
    webhookIn(changes.webhook),
    ...probes('alarms', 'health', 'problems'),
    ...further,
  );
}

export function fileInbox(folder: string, properties: Record<string, unknown> = {}): FlowNode {
  return { id: 'inbox', type: 'rvm-inbox', name: '', folder, ...properties };
}

/** An inbox node in PostgreSQL, without TLS, as the servers of the tests have it. */
export function sharedInbox(connection: string, properties: Record<string, unknown> = {}): FlowNode {
  const usual = { engine: 'postgres', schema: 'rvm', tls: 'off', instanceName: '' };
  return { id: 'inbox', type: 'rvm-inbox', name: '', ...usual, credentials: { connection }, ...properties };
}

export function sharedFlow(
  connection: string,
  changes: Partial<Record<'inbox' | 'webhook', Record<string, unknown>>> = {},
  ...further: FlowNode[]
): FlowNode[] {
  const webhook = { inbox: 'inbox', ...changes.webhook };
  return webhookFlow({ webhook }, sharedInbox(connection, changes.inbox), ...further);
}

/** An object inside a message, such as `webhook` or `payload`. */
export function part(msg: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = msg[name];
  assert.ok(typeof value === 'object' && value !== null, `msg.${name} is an object`);
  return { ...value };
}

/** A Buffer, as it comes over from the process of Node-RED. */
export function bytesOf(payload: unknown): Buffer {
  const { type, data } = payload as { type: string; data: number[] };
  assert.equal(type, 'Buffer');
  return Buffer.from(data);
}
