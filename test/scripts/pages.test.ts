import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, typesOfPackage } from '../support/node-red/node-red';

const PAGES = ['README.md', ...fs.globSync('docs/*.md', { cwd: ROOT })].map((page) =>
  page.replaceAll(path.sep, '/'),
);
/** What all pages may be together, as `wc -w` counts: two thirds of 38,500, which nobody wanted to read any more. */
const WORDS = 25_666;
const OF_README = { words: 1_000, lines: 110 };

function read(page: string): string {
  return fs.readFileSync(path.join(ROOT, page), 'utf8');
}

function wordsIn(page: string): number {
  return read(page).split(/\s+/).filter(Boolean).length;
}

/** The pages that a page links. */
function linkedBy(page: string): string[] {
  const links = read(page).matchAll(/\]\((?!https?:)([^)#\s]+\.md)/g);
  return [...links].map(([, link = '']) => path.posix.join(path.posix.dirname(page), link));
}

function reachableFrom(start: string): Set<string> {
  const reached = new Set([start]);
  for (const page of reached)
    for (const linked of linkedBy(page)) if (PAGES.includes(linked)) reached.add(linked);
  return reached;
}

describe('the pages for people', () => {
  it('are short enough to be read', () => {
    const counts = new Map(PAGES.map((page) => [page, wordsIn(page)]));
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    assert.ok(all <= WORDS, `${all} words, and ${WORDS} at most: ${JSON.stringify([...counts])}`);
  });

  it('begin with a README of two screens', () => {
    assert.ok(wordsIn('README.md') <= OF_README.words, `${wordsIn('README.md')} words`);
    const lines = read('README.md').split('\n').length;
    assert.ok(lines <= OF_README.lines, `${lines} lines`);
  });

  it('begin with a README that says what it is, how to try, install and begin, and which nodes there are', () => {
    const headings = [...read('README.md').matchAll(/^##? (.+)$/gm)].map(([, heading]) => heading);
    assert.deepEqual(headings, [
      'Remote monitoring for Node-RED',
      'Try it',
      'Install',
      'First steps',
      'The nodes',
      'More',
    ]);
  });

  it('show in the README one moving picture, two commands, and each node', () => {
    const readme = read('README.md');
    assert.deepEqual(readme.match(/docs\/images\/[^") ]+/g), ['docs/images/alarm-clip-settled.webp']);
    const [, commands = ''] = /^```\n(.*?)^```$/ms.exec(readme) ?? [];
    assert.equal(commands, 'npm start\nnpm test\n');
    const told = [...readme.matchAll(/^\|.*$/gm)].flatMap(
      ([row]) => row.match(/\]\(docs\/nodes\.md#/g) ?? [],
    );
    assert.equal(told.length, typesOfPackage().length);
  });

  it('are all found from the README', () => {
    assert.deepEqual(
      PAGES.filter((page) => !reachableFrom('README.md').has(page)),
      [],
    );
  });
});
