import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { probe, ROOT, type FlowNode } from '../node-red/node-red';

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

/**
 * An example as it is, with probes beside its nodes.
 * @param digits those that the name of the example begins with, or the whole name
 * @param beside ids of nodes, and the probe that gets all that goes into each
 */
export function example(digits: string, beside: Record<string, string> = {}): FlowNode[] {
  const file = EXAMPLES.find((name) => name.startsWith(digits)) ?? assert.fail(`no example ${digits}`);
  const nodes = JSON.parse(fs.readFileSync(path.join(FOLDER, file), 'utf8')) as FlowNode[];
  for (const id of Object.keys(beside))
    assert.ok(
      nodes.some((node) => node.id === id),
      `the example has no ${id}`,
    );
  const tab = nodes.find((node) => node.type === 'tab')?.id ?? '';
  const wired = nodes.map((node) => {
    if (!Array.isArray(node.wires)) return node;
    const wires = (node.wires as string[][]).map((port) =>
      port.flatMap((to) => (beside[to] ? [to, beside[to]] : [to])),
    );
    return { ...node, wires };
  });
  return [...wired, ...[...new Set(Object.values(beside))].map((id) => probe(id, tab))];
}
