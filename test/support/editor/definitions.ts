import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { ROOT } from '../node-red/node-red';

export interface Definition {
  defaults: Record<string, { value: unknown; type?: string; validate?(value: unknown): unknown }>;
  /** Absent where a node has none. */
  credentials?: Record<string, { type: string }>;
  /** Absent where a node is not in the palette, as is its colour. */
  paletteLabel?: unknown;
  color?: string;
  label(): string;
}

/** The definition that the built dialog of a type gives the editor. */
export function definitionOf(type: string): Definition {
  const html = fs.readFileSync(path.join(ROOT, 'dist', `${type}.html`), 'utf8');
  const script = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? '';
  const registered = new Map<string, Definition>();
  const registerType = (name: string, definition: Definition) => registered.set(name, definition);
  vm.runInNewContext(script, { RED: { nodes: { registerType } } });
  const definition = registered.get(type);
  assert.ok(definition !== undefined);
  return Object.assign(definition, { _: (key: string) => `text of ${key}` });
}
