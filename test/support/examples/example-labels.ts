import fs from 'node:fs';
import path from 'node:path';
import { ROOT, type FlowNode } from '../node-red/node-red';

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
