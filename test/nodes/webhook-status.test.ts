import assert from 'node:assert/strict';
import type { NodeAPI, NodeStatus } from 'node-red';
import { NO_IDS } from '../../lib/message/event-filter';
import { webhookStatus, type WebhookState } from '../../nodes/rvm-webhook-in/status';
import { clockTime } from '../../nodes/support/status-words';

const GOOD: WebhookState = {
  fault: undefined,
  unsetVariables: undefined,
  serverStatus: undefined,
  stationStatus: undefined,
  hasStations: true,
  mayJudge: true,
  isDurable: true,
  isInboxRefused: false,
  lacksSettler: false,
  samePhrase: '',
  unknownIds: NO_IDS,
  isUnproven: false,
  unseenProblems: 0,
  backlog: 0,
  offlineSince: undefined,
  lastAt: undefined,
  isSandbox: false,
};

const OFFLINE_SINCE = new Date('2026-11-21T03:00:00Z');

type Row = [what: string, Partial<WebhookState>, text: string];

/** What is wrong, and the text by which it shows, from what keeps all alarms out to what is only to be known. */
const LACKS: Row[] = [
  ['a path that another node has', { fault: 'pathInUse' }, 'status.pathInUse'],
  ['a variable that is not set', { unsetVariables: ['PHRASE'] }, 'status.variableNotSet PHRASE'],
  ['a server that does not listen', { serverStatus: { text: 'port in use' } }, 'port in use'],
  ['no Central Station', { hasStations: false }, 'status.notConfigured'],
  ['a Central Station without a phrase', { stationStatus: { text: 'no secret' } }, 'no secret'],
  ['Central Stations that cannot be told apart', { mayJudge: false }, 'status.notConfigured'],
  ['an inbox that cannot store', { isDurable: false }, 'status.notDurable'],
  ['an inbox whose settings do not count', { isInboxRefused: true }, 'status.wrongSetting'],
  ['no node that settles its events', { lacksSettler: true }, 'status.noSettleEvent'],
];

const CONCERNS: Row[] = [
  ['a phrase that two have', { samePhrase: 'North, South' }, 'status.samePhrase North, South'],
  ['unknown cameras', { unknownIds: { ...NO_IDS, cameras: ['x', 'y'] } }, 'status.unknownCamera x, y'],
  ['messages that were refused', { isUnproven: true }, 'status.notProven'],
  ['problems that no flow has got', { unseenProblems: 3 }, 'status.problems 3'],
  ['events that wait', { backlog: 7 }, 'status.backlog 7'],
  [
    'a service out of reach',
    { offlineSince: OFFLINE_SINCE },
    `status.offlineSince ${clockTime(OFFLINE_SINCE)}`,
  ],
];

function shown(...lacks: Partial<WebhookState>[]): NodeStatus {
  // As the editor gets it: the key of the text, and what is put into it.
  const RED = {
    _: (key: string, values: Record<string, unknown> = {}) => [key, ...Object.values(values)].join(' '),
  } as NodeAPI;
  return webhookStatus(RED, Object.assign({}, GOOD, ...lacks.reverse()));
}

describe('the status of webhook in', () => {
  const all = [...LACKS, ...CONCERNS];
  for (const [what, lack, text] of all) it(`tells of ${what}`, () => assert.equal(shown(lack).text, text));

  for (const [index, [what, lack, text]] of LACKS.entries()) {
    // The phrase that two have is why they cannot be told apart, and keeps out alarms beside what a station lacks.
    const isBeside = 'mayJudge' in lack || 'stationStatus' in lack;
    const lesser = all.slice(index + 1).filter(([, other]) => !(isBeside && 'samePhrase' in other));
    it(`tells of ${what} before all that matters less`, () =>
      assert.equal(shown(lack, ...lesser.map(([, other]) => other)).text, text));
  }

  for (const [index, [what, concern, text]] of CONCERNS.entries()) {
    for (const [otherWhat, other, otherText] of CONCERNS.slice(index + 1))
      it(`tells of ${what} and of ${otherWhat}, with the look of the first`, () => {
        const { text: joint, ...look } = shown(concern, other);
        assert.equal(joint, `status.joint ${text} ${otherText}`);
        const { text: _text, ...first } = shown(concern);
        assert.deepEqual(look, first);
      });
  }

  it('hides none of four concerns behind another', () => {
    const { text = '' } = shown(...CONCERNS.map(([, concern]) => concern));
    for (const [what, , part] of CONCERNS) assert.ok(text.includes(part), what);
  });

  for (const [title, state, text] of [
    [
      'names classes and sites that nobody knows',
      { unknownIds: { ...NO_IDS, classes: ['x'], sites: ['y'] } },
      'status.joint status.unknownClass x status.unknownSite y',
    ],
    [
      'names the phrase that two have where they cannot be told apart for it',
      { mayJudge: false, samePhrase: 'A, B' },
      'status.samePhrase A, B',
    ],
    [
      'names it beside what a Central Station lacks, too',
      { stationStatus: { text: 'no secret' }, samePhrase: 'A, B' },
      'status.joint no secret status.samePhrase A, B',
    ],
    ['is empty where all is well and nothing has come in yet', {}, undefined],
  ] as const)
    it(title, () => assert.equal(shown(state).text, text));

  it('is the time of the last event again once one has come since the service went out of reach', () => {
    const before = new Date(OFFLINE_SINCE.getTime() - 1);
    const since = new Date(OFFLINE_SINCE.getTime() + 60_000);
    const text = (lastAt: Date): unknown => shown({ lastAt, offlineSince: OFFLINE_SINCE }).text;
    assert.equal(text(before), `status.offlineSince ${clockTime(OFFLINE_SINCE)}`);
    assert.equal(text(since), `status.lastAlarm ${clockTime(since)}`);
  });

  it('is the time of the last event where all is well, in another colour for one of the sandbox', () => {
    const lastAt = new Date();
    const [real, ofSandbox] = [shown({ lastAt }), shown({ lastAt, isSandbox: true })];
    assert.equal(real.text, `status.lastAlarm ${clockTime(lastAt)}`);
    assert.equal(ofSandbox.text, `status.lastSandboxAlarm ${clockTime(lastAt)}`);
    assert.notEqual(real.fill, ofSandbox.fill);
  });
});
