import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { NodeAPI } from 'node-red';
import type { Problem, ProblemKind, ProblemReason } from '../../lib/webhook/problem';
import { problemKey, toldProblem } from '../../nodes/support/status';
import { ROOT } from '../support/node-red/node-red';

/** Each kind with each reason that it comes with; the types see to it that none is forgotten. */
const REASONS: Record<ProblemReason, ProblemKind> = {
  'no-signature': 'unauthentic',
  'bad-signature': 'unauthentic',
  'bad-token': 'unauthentic',
  'raw-body-missing': 'unauthentic',
  method: 'unauthentic',
  compressed: 'unauthentic',
  large: 'unauthentic',
  'not-json': 'dead-letter',
  'not-utf8': 'dead-letter',
  'too-large': 'dead-letter',
  'too-deep': 'dead-letter',
  'duplicate-key': 'dead-letter',
  'no-message-id': 'dead-letter',
  'agent-user': 'dead-letter',
  attempts: 'dead-letter',
  rejected: 'dead-letter',
  'too-old': 'stale',
  lease: 'uncertain',
  restart: 'uncertain',
  window: 'blocked',
  store: 'blocked',
};
const WITHOUT_REASON: Partial<Record<ProblemKind, true>> = {
  conflict: true,
  other: true,
  'self-test': true,
  'same-phrase': true,
  silent: true,
  blocked: true,
};
const ALL: [ProblemKind, ProblemReason | null][] = [
  ...Object.entries(REASONS).map(([reason, kind]): [ProblemKind, ProblemReason] => [
    kind,
    reason as ProblemReason,
  ]),
  ...Object.keys(WITHOUT_REASON).map((kind): [ProblemKind, null] => [kind as ProblemKind, null]),
  ['conflict', 'not-json'],
];

const texts = (
  JSON.parse(fs.readFileSync(path.join(ROOT, 'nodes/support/locales/en-US.json'), 'utf8')) as {
    shared: { problem: Record<string, string> };
  }
).shared.problem;

describe('the texts of problems', () => {
  for (const [kind, reason] of ALL) {
    it(`say in one sentence what ${kind} ${reason ?? ''} means and what to do`, () => {
      const text = texts[problemKey({ kind, reason }).replace('shared.problem.', '')] ?? '';
      assert.match(text, /^[A-Z][^.]*[:;,][^.]*\.$/);
    });
  }

  it('are for problems that there are', () => {
    const over = problemKey({ kind: 'blocked', reason: 'store', ended: true });
    const keys = [over, ...ALL.map(([kind, reason]) => problemKey({ kind, reason }))];
    const names = keys.map((key) => key.replace('shared.problem.', ''));
    const told = Object.keys(texts).filter((name) => !name.endsWith('_one'));
    assert.deepEqual(told.sort(), [...new Set(names)].sort());
  });

  it('stand beside all that was told before', () => {
    const problem: Problem = {
      kind: 'blocked',
      reason: 'window',
      station: null,
      stationName: null,
      receivedTime: '2026-01-02T03:04:05Z',
      count: 7,
    };
    const RED = { _: (key: string, values: object) => `${key} ${JSON.stringify(values)}` } as NodeAPI;
    const text = 'shared.problem.window {"count":7}';
    assert.deepEqual(toldProblem(RED, problem), { ...problem, text });
  });
});
