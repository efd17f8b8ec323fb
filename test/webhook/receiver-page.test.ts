import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(__dirname, '..', '..');

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/** The cases that the page names, each by its id such as `C-07`, or from one to another. */
function listed(): string[] {
  const named = read('docs/receiver.md').matchAll(/\bC-(\d{2,3})(?:\s+to\s+C-(\d{2,3}))?\b/g);
  return [...named].flatMap(([, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, n) => idOf(Number(from) + n)),
  );
}

const idOf = (number: number): string => `C-${String(number).padStart(2, '0')}`;

const casesIn = (file: string): string[] => read(file).match(/\bC-\d{2,3}\b/g) ?? [];

describe('the page of the receiver', () => {
  it('lists each case once', () => {
    assert.equal(new Set(listed()).size, listed().length);
  });

  it('lists the cases that tests name, and no other', () => {
    const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: [path.relative(ROOT, __filename)] });
    assert.deepEqual(listed().sort(), [...new Set(files.flatMap(casesIn))].sort());
  });
});
