import fs from 'node:fs';
import path from 'node:path';
import { ROOT, type FlowNode } from '../node-red/node-red';

/** What the editor writes on a node of an example, in English. */
export function labelOf({ type, name }: FlowNode): string {
  if (typeof name === 'string' && name !== '') return name;
  return type.startsWith('rvm-') ? paletteLabel(type) : type;
}

function paletteLabel(type: string): string {
  const file = path.join(ROOT, 'nodes', type, 'locales', 'en-US.json');
  const texts = JSON.parse(fs.readFileSync(file, 'utf8')) as { label: { node: string } };
  return texts.label.node;
}
