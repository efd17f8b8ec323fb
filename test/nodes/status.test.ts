import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { NodeAPI } from 'node-red';
import { RvmError, type RvmErrorCode } from '../../lib/error';
import type { Problem, ProblemKind, ProblemReason } from '../../lib/webhook/problem';
import {
  connectionStatus,
  failureStatus,
  problemKey,
  toldProblem,
  unsetStatus,
} from '../../nodes/support/status';
import { wordsToText, type Words } from '../../nodes/support/status-words';
import { ROOT } from '../support/node-red/node-red';

const { status: TEXTS, shared } = JSON.parse(
  fs.readFileSync(path.join(ROOT, 'nodes/support/locales/en-US.json'), 'utf8'),
) as { status: Record<string, string>; shared: { problem: Record<string, string> } };

function shown(code: RvmErrorCode): string | undefined {
  const RED = { _: (key: string) => key } as NodeAPI;
  const refused = { kind: 'refused', error: new RvmError(code, '') } as const;
  const { fill, shape, text } = connectionStatus(RED, refused, false);
  assert.deepEqual([fill, shape], ['red', 'ring']);
  return TEXTS[(text ?? '').replace(/^status\./, '')];
}

describe('the status of a station that is refused', () => {
  const expected: [RvmErrorCode, string][] = [
    ['CONFIG_MISSING', 'not configured'],
    ['BAD_INPUT', 'wrong setting'],
    ['API_KEY_REJECTED', 'wrong API key'],
    ['LOGIN_FAILED', 'wrong password'],
    ['INCOMPATIBLE_VERSION', 'incompatible'],
    ['VERSION_NOT_REQUESTED', 'incompatible'],
    ['PERMISSION_DENIED', 'no permission'],
    ['LINK_NOT_OFFERED', 'not offered by the service'],
    ['UNTRUSTED_LINK', 'untrusted link'],
    ['NETWORK', 'sandbox cannot start'],
  ];
  for (const [code, text] of expected) it(`is "${text}" for ${code}`, () => assert.equal(shown(code), text));
});

/** What the page of errors says of each code. */
const TOLD = fs
  .readFileSync(path.join(ROOT, 'docs/errors.md'), 'utf8')
  .split(/^### /m)
  .slice(1)
  .map((section): [RvmErrorCode, string] => [section.split('\n', 1)[0] as RvmErrorCode, section]);

describe('the status of a node whose last message has failed', () => {
  for (const [code, told] of TOLD)
    it(`is a red dot with a short text for ${code}, which the page of errors tells`, () => {
      const { fill, shape, text } = failureStatus(code);
      assert.deepEqual([fill, shape], ['red', 'dot']);
      const inEnglish = TEXTS[(text ?? '').replace(/^status\./, '')] ?? '';
      assert.match(inEnglish, /^[^_]{5,30}$/);
      assert.ok(told.includes(`\`${inEnglish}\``), inEnglish);
    });
});

describe('the status of a node that lacks environment variables', () => {
  const RED = {
    _: (key: string, values: Record<string, string>) =>
      Object.entries(values).reduce(
        (text, [name, value]) => text.replace(`__${name}__`, value),
        TEXTS[key.replace(/^status\./, '')] ?? '',
      ),
  } as NodeAPI;

  it('names the only one, or all of them', () => {
    assert.deepEqual(unsetStatus(RED, ['URL']), { fill: 'red', shape: 'ring', text: 'URL is not set' });
    assert.equal(unsetStatus(RED, ['URL', 'KEY']).text, 'URL, KEY are not set');
  });
});

/** Texts of a language of which all is to be seen. */
const say = (key: string, values: Record<string, string | number>): string =>
  `${key}(${Object.values(values).join(', ')})`;
const clock = (time: Date): string => `${time.getUTCHours()} o'clock`;

const at = (hour: number) => ({ moment: Date.UTC(2026, 2, 4, hour) });
const WORDS: [title: string, words: Words, text: string][] = [
  ['which has their values', { key: 'shared', values: { count: 2, name: 'north' } }, 'shared(2, north)'],
  ['which needs none', { key: 'armed' }, 'armed()'],
  [
    'which tells a moment by the clock of whoever reads it',
    { key: 'last', values: { time: at(5) } },
    "last(5 o'clock)",
  ],
  [
    'of which a part may be words in their turn, with that clock, too',
    {
      key: 'joint',
      values: { first: { key: 'offline', values: { time: at(6) } }, second: { key: 'armed' } },
    },
    "joint(offline(6 o'clock), armed())",
  ],
];

describe('the words of a status become a text', () => {
  for (const [title, words, text] of WORDS)
    it(title, () => assert.equal(wordsToText(words, say, clock), text));
});

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
const WITHOUT_REASON = ['conflict', 'other', 'self-test', 'same-phrase', 'silent', 'blocked'] as const;
const ALL = [
  ...Object.entries(REASONS).map(([reason, kind]) => ({ kind, reason: reason as ProblemReason })),
  ...WITHOUT_REASON.map((kind) => ({ kind, reason: null })),
  { kind: 'conflict', reason: 'not-json' } as const,
];

describe('the texts of problems', () => {
  for (const { kind, reason } of ALL)
    it(`say in one sentence what ${kind} ${reason ?? ''} means and what to do`, () => {
      const text = shared.problem[problemKey({ kind, reason }).replace('shared.problem.', '')] ?? '';
      assert.match(text, /^[A-Z][^.]*[:;,][^.]*\.$/);
    });

  it('are for problems that there are', () => {
    const over = problemKey({ kind: 'blocked', reason: 'store', ended: true });
    const keys = [over, ...ALL.map(problemKey)];
    const names = keys.map((key) => key.replace('shared.problem.', ''));
    const told = Object.keys(shared.problem).filter((name) => !name.endsWith('_one'));
    assert.deepEqual(told.sort(), [...new Set(names)].sort());
  });

  it('stand beside all that was told before', () => {
    const told = { kind: 'blocked', reason: 'window', count: 7, station: null, stationName: null } as const;
    const problem: Problem = { ...told, receivedTime: '2026-01-02T03:04:05Z' };
    const RED = { _: (key: string, values: object) => `${key} ${JSON.stringify(values)}` } as NodeAPI;
    const text = 'shared.problem.window {"count":7}';
    assert.deepEqual(toldProblem(RED, problem), { ...problem, text });
  });
});
