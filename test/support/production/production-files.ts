import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../node-red/node-red';

/** What docs/production.md leads to. */
export const PRODUCTION = path.join(ROOT, 'docs', 'production');

/** The text of a file in docs/production. */
export function productionFile(file: string): string {
  return fs.readFileSync(path.join(PRODUCTION, file), 'utf8');
}

/** The value of a setting of a unit of systemd. */
export function settingOf(unit: string, name: string): string {
  const [, value = ''] = new RegExp(`^${name}=(.*)$`, 'm').exec(productionFile(`systemd/${unit}`)) ?? [];
  return value;
}

/** The variables of the file "environment", as systemd and Compose read them. */
export function environmentFile(): Record<string, string> {
  const lines = productionFile('environment').matchAll(/^([A-Z_]+)='(.*)'$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]));
}

/** The instructions of the Dockerfile, in their order, each with the rest of its line and of those that it goes on in. */
export function dockerInstructions(): { name: string; text: string }[] {
  const lines = productionFile('Dockerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ');
  return [...lines.matchAll(/^([A-Z]+) +(.*)$/gm)].map(([, name = '', text = '']) => ({
    name,
    text: text.trim(),
  }));
}

/** The words of a command of a Dockerfile in its form of a list; the first is `node`. @returns those behind it */
export function nodeArguments(command: string): string[] {
  const words: unknown = JSON.parse(command);
  assert.ok(Array.isArray(words));
  const [node, ...args] = words.map(String);
  assert.equal(node, 'node');
  return args;
}
