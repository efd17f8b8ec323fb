import assert from 'node:assert/strict';
import { ExampleRun, withConstants } from '../support/examples/example-run';
import { entrance, probe, type FlowNode } from '../support/node-red/node-red';

const NIGHT = 'rvm-example-09-night';
const CITY = '{ latitude: 48.2, longitude: 16.4 }';

/** Copies of "night?" with other settings, each behind an entrance of its own. */
const JUDGES: Record<string, Record<string, string>> = {
  hours: { FROM: "'20:00'", TO: "'06:00'", ZONE: "'Europe/Vienna'" },
  day: { FROM: "'06:00'", TO: "'20:00'", ZONE: "'Europe/Vienna'" },
  sun: { SUN: CITY },
  'wrong-hours': { FROM: "'8 pm'" },
  'wrong-zone': { ZONE: "'Atlantis'" },
  'wrong-place': { SUN: "{ latitude: 'north' }" },
};

function withJudges(nodes: FlowNode[]): FlowNode[] {
  const night = nodes.find(({ id }) => id === NIGHT) ?? assert.fail('no "night?"');
  const judges = Object.entries(JUDGES).flatMap(([name, constants]) => {
    const judge = withConstants(night, constants);
    // Each time is asked anew, whatever was said before.
    const func = `context.set('said', '');\n${String(judge.func)}`;
    const place = { id: `judge-${name}`, wires: [['judged']] };
    return [{ ...judge, ...place, func }, ...entrance(`ask-${name}`, `judge-${name}`)];
  });
  return [...nodes, ...judges, probe('judged')];
}

describe('example 09, night filter and repeat filter', () => {
  const run = ExampleRun.ofGroup('09', {
    env: { TZ: 'UTC' },
    beside: {
      'alarm-state': 'in',
      alarm: 'alarm',
      extended: 'lasts longer',
      held: 'held back',
      failed: 'not settled',
    },
    constants: { night: { FROM: "'00:00'", TO: "'00:00'" } },
    doors: { tell: 'alarm-state' },
    edit: withJudges,
  });

  /** Where an alarm of a camera comes out, and why it is held back. */
  const outcome = async (camera: string): Promise<string> =>
    (await run.wayOf({ camera }, ['alarm', 'lasts longer', 'held back'])).way;

  async function judged(judge: string, payload: unknown): Promise<unknown> {
    const count = run.nodeRed.at('judged').length;
    await run.enter(`ask-${judge}`, { payload });
    await run.nodeRed.until(() => run.nodeRed.at('judged').length > count, 'the judgement');
    return run.nodeRed.at('judged').at(-1)?.topic;
  }

  it('arms at the start of a night', async () => {
    await run.nodeRed.message('in', ({ topic }) => topic === 'arm');
  });

  it('holds back one alarm, and lets the second one of the same camera through', async () => {
    assert.equal(await outcome('SANDBOX Gate 1'), 'held back: count');
    assert.equal(await outcome('SANDBOX Yard 1'), 'held back: count');
    assert.equal(await outcome('SANDBOX Gate 1'), 'alarm');
    assert.equal(await outcome('SANDBOX Gate 1'), 'lasts longer');
  });

  it('holds everything back by day, and shows why', async () => {
    await run.enter('tell', { topic: 'disarm' });
    assert.equal(await outcome('SANDBOX Gate 1'), 'held back: disarmed');
    await run.nodeRed.message('alarm', ({ payload }) => payload === false);
  });

  it('settles what it lets through, what it holds back, and all else', () => {
    assert.deepEqual(run.nodeRed.at('not settled'), []);
  });

  const CASES: [judge: string, time: string, armed: boolean, why: string][] = [
    ['hours', '2026-11-21T19:05:00Z', true, '20:05 at the site is night'],
    ['hours', '2026-11-21T18:55:00Z', false, '19:55 at the site is day'],
    ['hours', '2026-07-21T18:05:00Z', true, '20:05 in summer time is night'],
    ['hours', '2026-11-21T04:59:00Z', true, '05:59 is night'],
    ['hours', '2026-11-21T05:00:00Z', false, '06:00 is day'],
    ['day', '2026-11-21T11:00:00Z', true, 'hours within one day: 12:00 is between 06:00 and 20:00'],
    ['day', '2026-11-21T21:00:00Z', false, 'hours within one day: 22:00 is not'],
    ['sun', '2026-11-21T15:20:00Z', true, 'a winter evening after sunset (15:08 UTC)'],
    ['sun', '2026-11-21T14:55:00Z', false, 'a winter afternoon before it'],
    ['sun', '2026-06-21T18:45:00Z', false, 'a summer evening before sunset (18:58 UTC)'],
    ['sun', '2026-06-21T19:10:00Z', true, 'a summer evening after it'],
    ['sun', '2026-06-21T02:40:00Z', true, 'a summer morning before sunrise (02:54 UTC)'],
    ['sun', '2026-06-21T03:10:00Z', false, 'a summer morning after it'],
    ['wrong-hours', '2026-11-21T12:00:00Z', true, 'hours that cannot be read'],
    ['wrong-zone', '2026-11-21T12:00:00Z', true, 'a time zone that there is not'],
    ['wrong-place', '2026-11-21T12:00:00Z', true, 'a place that cannot be read'],
  ];
  for (const [judge, time, armed, why] of CASES) {
    it(`${why}: ${armed ? 'armed' : 'disarmed'}`, async () => {
      assert.equal(await judged(judge, Date.parse(time)), armed ? 'arm' : 'disarm');
    });
  }
});
