import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { type FlowNode, probe, ROOT } from '../node-red/node-red';

const FOLDER = path.join(ROOT, 'examples');

/** Files of the example flows; their names begin with two digits. */
export const EXAMPLES = fs.readdirSync(FOLDER).filter((file) => file.endsWith('.json'));

/** Packages that an example needs in the palette beside this one, by its two digits. */
const PALETTE_OF: Record<string, readonly string[]> = {
  '04': ['node-red-contrib-s7'],
  '07': ['node-red-node-email'],
  '10': ['@flowfuse/node-red-dashboard'],
  '18': ['@flowfuse/node-red-dashboard'],
};

/** @param digits those that the name of the example begins with, or the whole name */
export function packagesFor(digits: string): readonly string[] {
  return PALETTE_OF[digits.slice(0, 2)] ?? [];
}

/** What a test calls a node of an example: its id without what all ids of the example begin with. */
const shortName = (id: string): string => /^rvm-example-\d\d-(.+)$/.exec(id)?.[1] ?? id;

/** What is said of a node by its short name, or its id. @throws AssertionError where the example has no such node */
export function saidOfNodes<Value>(
  nodes: readonly FlowNode[],
  said: Record<string, Value>,
): (id: string) => Value | undefined {
  const unknown = Object.keys(said).filter(
    (name) => !nodes.some(({ id }) => [id, shortName(id)].includes(name)),
  );
  assert.deepEqual(unknown, [], 'the example has these nodes');
  return (id) => said[id] ?? (id.startsWith('rvm-example-') ? said[shortName(id)] : undefined);
}

/**
 * An example as it is, with probes beside its nodes.
 * @param digits those that the name of the example begins with, or the whole name
 * @param beside short names of nodes, and the probe that gets all that goes into each
 * @param behind short names of nodes, and the probe that gets all that leaves the first output of each
 */
export function example(
  digits: string,
  beside: Record<string, string> = {},
  behind: Record<string, string> = {},
): FlowNode[] {
  const file = EXAMPLES.find((name) => name.startsWith(digits)) ?? assert.fail(`no example ${digits}`);
  const nodes = JSON.parse(fs.readFileSync(path.join(FOLDER, file), 'utf8')) as FlowNode[];
  const [besideOf, behindOf] = [saidOfNodes(nodes, beside), saidOfNodes(nodes, behind)];
  const tab = nodes.find((node) => node.type === 'tab')?.id ?? '';
  const wired = nodes.map((node) => {
    if (!Array.isArray(node.wires)) return node;
    const wires = (node.wires as string[][]).map((port, at) =>
      [...port, (at === 0 && behindOf(node.id)) || [], port.map((to) => besideOf(to) ?? [])].flat(2),
    );
    return { ...node, wires };
  });
  const probes = new Set([...Object.values(beside), ...Object.values(behind)]);
  return [...wired, ...[...probes].map((id) => probe(id, tab))];
}

/** What the editor writes on a node of an example, in English. The name of an e-mail node is where it sends to. */
export function labelOf({ type, name, dname }: FlowNode): string {
  if (typeof dname === 'string' && dname !== '') return dname;
  if (typeof name === 'string' && name !== '') return name;
  return type.startsWith('rvm-') ? paletteLabel(type) : type;
}

function paletteLabel(type: string): string {
  const file = path.join(ROOT, 'nodes', type, 'locales', 'en-US.json');
  const texts = JSON.parse(fs.readFileSync(file, 'utf8')) as { label: { node: string } };
  return texts.label.node;
}

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
