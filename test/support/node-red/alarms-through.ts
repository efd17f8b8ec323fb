import assert from 'node:assert/strict';
import type { WebhookFacts } from '../../../lib/message/event-message';
import type { Problem } from '../../../lib/webhook/problem';
import type { Overview } from '../../../nodes/rvm-sidebar/overview';
import { alarmMessage, post } from '../webhook/alarm-message';
import { PATH, PHRASE } from './flows';
import { look } from './inboxes-open';
import type { FlowNode, NodeRed } from './node-red';

export type Message = Record<string, unknown>;
export type Facts = WebhookFacts & { deliveryId: string };

export function factsOf(msg: Message): Facts {
  return (msg['webhook'] ?? {}) as Facts;
}

export function problemOf(msg: Message): Problem & { text: string } {
  return msg['payload'] as Problem & { text: string };
}

export function codeOf(msg: Message | undefined): string {
  return (msg?.['error'] as { code?: string } | undefined)?.code ?? '';
}

export async function answered(
  nodeRed: NodeRed,
  message: Message | string = alarmMessage(),
  phrase = PHRASE,
  path = PATH,
): Promise<number> {
  return (await post(nodeRed.url + path, message, phrase)).status;
}

/** What has come to a probe of a webhook message. */
export function arrived(nodeRed: NodeRed, { messageId }: Message, probe = 'alarms'): Promise<Message> {
  return nodeRed.message(probe, (msg) => factsOf(msg).messageId === messageId);
}

/** Sends a proven alarm, and gives what the flow has got of it. */
export async function raise(
  nodeRed: NodeRed,
  payload: Message = {},
  phrase = PHRASE,
  path = PATH,
): Promise<Message> {
  const message = alarmMessage(payload);
  assert.equal(await answered(nodeRed, message, phrase, path), 200);
  return arrived(nodeRed, message);
}

/** Waits until a node shows a status, looking at those after the first so many messages. */
export function shows(nodeRed: NodeRed, text: string | RegExp, node = 'webhook', from = 0): Promise<void> {
  const isShown = (shown?: string): boolean =>
    typeof text === 'string' ? shown === text : shown !== undefined && text.test(shown);
  return nodeRed.until(() => isShown(nodeRed.statuses(node, from).at(-1)), `the status ${text} of ${node}`);
}

export async function overviewOf(nodeRed: NodeRed): Promise<Overview> {
  return (await look(nodeRed, 'overview')).body as unknown as Overview;
}

/** A node on the tab of the test. */
export function node(type: string, properties: Message = {}): FlowNode {
  return { id: type, type, z: 'tab', name: '', x: 0, y: 0, wires: [], ...properties };
}

export function functionNode(id: string, func: string, ...targets: string[]): FlowNode {
  return node('function', { id, func, outputs: 1, libs: [], wires: [targets] });
}

/** What settles events by `msg.id`, and tells by the probe `settled` of those that it has. */
export function settleById(properties: Message = {}): FlowNode {
  const usual = { delivery: 'id', deliveryType: 'msg', wires: [['settled'], []] };
  return node('rvm-settle', { id: 'settle', ...usual, ...properties });
}
