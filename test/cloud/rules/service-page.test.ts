import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DIALECT } from '../../../lib/cloud/dialect';
import { RETRY_POLICY } from '../../../lib/cloud/http/retry-policy';

const ROOT = path.join(__dirname, '..', '..', '..');

/** The numbers of the rules in a text, such as `T-07`. */
function rules(text: string): string[] {
  return [...text.matchAll(/\bT-\d{2}\b/g)].map(([rule]) => rule);
}

/** Rules in the titles of all tests; a title of a row of a table begins with its numbers. */
function tested(): Set<string> {
  const title = /\b(?:it|describe)\(\s*(['"`])(.*?)\1|['"`](?:[CT]-\d+ )+/gs;
  const files = globSync('test/**/*.test.ts', { cwd: ROOT });
  const titles = files.flatMap((file) => readFileSync(path.join(ROOT, file), 'utf8').match(title) ?? []);
  return new Set(titles.flatMap(rules));
}

/** All texts in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe('the page of the service', () => {
  const page = readFileSync(path.join(ROOT, 'docs', 'service.md'), 'utf8');
  const listed = [...page.matchAll(/^- (T-\d{2}) /gm)].map(([, rule = '']) => rule);

  it('lists the rules in order, each once', () => {
    assert.deepEqual(listed, [...new Set(listed)].sort());
  });

  it('lists every rule of the client', () => {
    const wanted = Array.from({ length: 21 }, (_, n) => `T-${String(n + 1).padStart(2, '0')}`);
    const unlisted = wanted.filter((rule) => !listed.includes(rule));
    assert.deepEqual(unlisted, []);
  });

  it('says what is sent again, as the client has it', () => {
    const [, section = ''] = /### What is sent again\n(.*?)\n## /s.exec(page) ?? [];
    const [, , ...rows] = [...section.matchAll(/^\|(.*)\|$/gm)].map(([, row = '']) =>
      row.split('|').map((cell) => cell.trim()),
    );
    assert.deepEqual(
      rows,
      Object.entries(RETRY_POLICY).map(([failure, again]) => [
        failure,
        again.GET,
        again.login,
        again['RTSP session'],
        again.command,
      ]),
    );
  });

  it('tells every name that the client knows', () => {
    const { snapshot, ...others } = DIALECT;
    const { accept: _header, ...names } = snapshot;
    const text = page.toLowerCase();
    const untold = textsIn([others, names]).filter((name) => !text.includes(`\`${name.toLowerCase()}\``));
    assert.deepEqual(untold, []);
  });

  it('lists no rule without a test, and no test has a rule that is not listed', () => {
    const inTitles = tested();
    assert.deepEqual([...inTitles].sort(), listed);
    assert.deepEqual([...new Set(rules(page))].sort(), listed);
  });
});
