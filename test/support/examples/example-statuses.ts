import type { FlowNode } from '../node-red/node-red';

/** As long as they become where all goes well, or a code of error stands there. */
const OF_TYPES: Record<string, string> = {
  'rvm-webhook-in': 'sandbox, last 23:59:59',
  'rvm-alarm-state': 'raised: SANDBOX Gate 1',
  'rvm-watch': 'no findings',
  'tcp request': '1 connection',
  'mqtt out': 'connected',
  'e-mail': 'send failed',
  's7 out': 'online',
};
const SERVICE_NODES = /^rvm-(get|list|view|ptz|snapshot|request)/;
const OF_FUNCTIONS = 'no answer within 20 s';
const OF_DEBUG_NODES: Record<string, string> = {
  'error.code': 'EVENT_WITHOUT_CAMERA',
  'event.eventName': 'Person at the fence',
};
/** The editor cuts longer ones so. */
const LONGEST = 'SANDBOX ALARM Person at the f...';

/** Statuses that the nodes of a tab show while it runs, by their ids. */
export function statusesOf(flow: readonly FlowNode[], tab: string): Record<string, string> {
  const texts = flow.filter(({ z }) => z === tab).map((node) => [node.id, statusOf(node)]);
  return Object.fromEntries(texts.filter(([, text]) => text !== '')) as Record<string, string>;
}

function statusOf({ type, tostatus, statusVal, func, initialize }: FlowNode): string {
  if (type === 'debug') return tostatus === true ? ofDebugNode(String(statusVal)) : '';
  if (type === 'function')
    return /node\.status\(/.test(`${String(func)}${String(initialize)}`) ? OF_FUNCTIONS : '';
  return OF_TYPES[type] ?? (SERVICE_NODES.test(type) ? 'sandbox' : '');
}

function ofDebugNode(value: string): string {
  const text = OF_DEBUG_NODES[value];
  if (text !== undefined) return text;
  return /text|message/.test(value) ? LONGEST : 'bad-signature';
}
