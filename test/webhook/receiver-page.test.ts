import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(__dirname, '..', '..');

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8');
}

/** The cases that the page names, each by its id such as `C-07`, or from one to another. */
function listed(): string[] {
  const named = read('docs/receiver.md').matchAll(/\bC-(\d{2,3})(?:\s+to\s+C-(\d{2,3}))?\b/g);
  return [...named].flatMap(([, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, n) => idOf(Number(from) + n)),
  );
}

function idOf(number: number): string {
  return `C-${String(number).padStart(2, '0')}`;
}

function casesIn(file: string): string[] {
  return [...read(file).matchAll(/\bC-\d{2,3}\b/g)].map(([id]) => id);
}

describe('the page of the receiver', () => {
  it('lists each case once', () => {
    assert.deepEqual(
      listed().filter((id, index, ids) => ids.indexOf(id) !== index),
      [],
    );
  });

  it('lists the cases that tests name, and no other', () => {
    const files = globSync('test/**/*.test.ts', { cwd: ROOT }).filter(
      (file) => path.resolve(ROOT, file) !== __filename,
    );
    assert.deepEqual(listed().sort(), [...new Set(files.flatMap(casesIn))].sort());
  });
});
