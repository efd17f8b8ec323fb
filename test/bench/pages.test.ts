import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { MEASUREMENTS } from '../../bench/measurements';
import { figureOf, PAGES, pageWith, QUOTES } from '../../bench/pages';
import { resultsIn, withRows, type Result } from '../../bench/results';
import { ROOT } from '../support/node-red/node-red';

const RESULTS = resultsIn(fs.readFileSync(path.join(ROOT, 'bench', 'results.json'), 'utf8'));

const PAGE = 'docs/production.md';

function textOf(page: string): string {
  return fs.readFileSync(path.join(ROOT, page), 'utf8');
}

/** One row of B1, of another day than any that is written. */
function rateOf(oursPerSecond: number): Result[] {
  const figure = { median: 1.234, low: 0.9, high: 2 };
  const told = { id: 'B1', measured: 'a rate', against: 'another', unit: 'x' } as const;
  const row = { ...told, figure, target: { atLeast: 1 }, seen: { oursPerSecond } };
  const on = { date: '2026-11-01', node: '24', nodeRed: '5', platform: 'linux x64', cores: 2 };
  return withRows([], [row], { on, order: ['B1'] });
}

describe('the figures in pages', () => {
  for (const page of PAGES)
    it(`are those of bench/results.json in ${page}: npm run bench -- --pages writes them`, () => {
      assert.equal(pageWith(RESULTS, page, textOf(page)), textOf(page));
    });

  it('are put into the sentence that quotes them, with two digits', () => {
    const text = pageWith(rateOf(12_345), PAGE, textOf(PAGE));
    assert.match(text, /^- Alarms: about 12,000 a second, /m);
  });

  it('stay as they are where nothing was measured', () => {
    assert.equal(pageWith([], PAGE, textOf(PAGE)), textOf(PAGE));
  });

  it('are missed where their sentence was changed', () => {
    assert.throws(() => pageWith(RESULTS, PAGE, 'Alarms: many'), /0 places for “Alarms: about #/);
  });

  it('stand in the table of bench/README.md, with the day and the machine', () => {
    const text = pageWith(rateOf(1), 'bench/README.md', textOf('bench/README.md'));
    const row = /^\| B1 +\| a rate +\| another +\| 1\.23 \(0\.90 to 2\.00\) x +\| at least 1 x +\| met +\|$/m;
    assert.match(text, row);
    assert.match(text, /^- 2026-11-01, 2 cores, linux x64, Node\.js 24, Node-RED 5: B1$/m);
  });

  it('are quoted by no other sentence about a row', () => {
    const reasons = textOf('bench/README.md').split('\n## What is missed, and why\n')[1] ?? '';
    assert.ok(reasons.length > 0);
    assert.doesNotMatch(reasons, /\d\.\d|\d (?:µs|ms|s|KiB|MB|%|events)\b/);
    const docs = fs.readdirSync(path.join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
    for (const page of ['README.md', ...docs.map((name) => `docs/${name}`)])
      assert.doesNotMatch(textOf(page), /\d ?µs\b|\b[BPV]\d{1,2}[a-c]? (?:is|was|at|of)? ?\d/, page);
  });

  it('that are seen beside a row tell their unit by their name', () => {
    const units = /(?:Ms|Microseconds|Seconds|PerSecond|PerEvent|KiB|MB|Requests|Times|Ratio)$/;
    for (const { id, seen } of RESULTS) for (const name of Object.keys(seen)) assert.match(name, units, id);
    for (const { seen = 'Ms' } of QUOTES) assert.match(seen, units);
  });

  it('are those of a benchmark of which each row, and each figure that is quoted, was measured', () => {
    const measured = new Set(RESULTS.map(({ id }) => id));
    const rows = Object.keys(MEASUREMENTS).filter((id) => !measured.has(id));
    const quotes = QUOTES.filter((quote) => figureOf(RESULTS, quote) === undefined);
    assert.deepEqual([rows, quotes], [[], []]);
  });
});
