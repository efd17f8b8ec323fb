import assert from 'node:assert/strict';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { eventOf, ExampleRun, webhookOf, withConstants } from '../support/examples/example-run';
import type { RaisedAlarm } from '../support/examples/example-sandbox';
import { PHRASE } from '../support/node-red/flows';
import { entrance, inject, probe, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

type Message = Record<string, unknown>;

const TAB = 'rvm-example-09-tab';
const NIGHT = 'rvm-example-09-night';
const ALWAYS = { FROM: "'00:00'", TO: "'00:00'" };
const REPEATED = { camera: 'SANDBOX Car Park 1', seconds: 0.2 };
const CITY = '{ latitude: 48.2, longitude: 16.4 }';

/** Copies of "at night?" with other settings, each behind an entrance of its own. */
const JUDGES: Record<string, Record<string, string>> = {
  hours: { FROM: "'20:00'", TO: "'06:00'", ZONE: "'Europe/Vienna'" },
  day: { FROM: "'06:00'", TO: "'20:00'", ZONE: "'Europe/Vienna'" },
  sun: { SUN: CITY },
  'wrong-hours': { FROM: "'8 pm'" },
  'wrong-zone': { ZONE: "'Atlantis'" },
  'wrong-place': { SUN: "{ latitude: 'north' }" },
};

function withFurther(nodes: FlowNode[]): FlowNode[] {
  const night = nodes.find(({ id }) => id === NIGHT) ?? assert.fail('no "at night?"');
  const judges = Object.entries(JUDGES).flatMap(([name, constants]) => [
    { ...withConstants(night, constants), id: `judge-${name}`, wires: [['passes'], ['filtered by day']] },
    ...entrance(`ask-${name}`, `judge-${name}`),
  ]);
  const open = { id: 'open', type: 'rvm-list-events', state: 'open', x: 0, y: 0, wires: [['listed'], []] };
  const entrances = [...entrance('unlisted', 'rvm-example-09-lasts'), ...entrance('ask-open', 'open')];
  const probes = ['passes', 'filtered by day', 'listed'].map((name) => probe(name));
  const further = [...judges, ...entrances, open, ...probes];
  return [...nodes, ...further.map((node) => ({ ...node, z: TAB }))];
}

describe('example 09, night filter and duration filter', () => {
  let run: ExampleRun;
  let raised: { lasting: RaisedAlarm; short: RaisedAlarm; repeated: RaisedAlarm[] };

  before(async () => {
    run = await ExampleRun.start('09', {
      env: { TZ: 'UTC' },
      beside: {
        'rvm-example-09-alarm': 'alarm',
        'rvm-example-09-filtered': 'filtered',
        'rvm-example-09-nothing': 'nothing new',
        'rvm-example-09-wait': 'waits',
      },
      changes: {
        'rvm-example-09-wait': { timeout: '2' },
        'rvm-example-09-station': { credentials: { secret: PHRASE } },
      },
      constants: { [NIGHT]: ALWAYS, 'rvm-example-09-lasts': { SECONDS: '2' } },
      edit: withFurther,
    });
    // Each is judged after the same time, so that they come together.
    raised = {
      lasting: await run.raise({ camera: 'SANDBOX Gate 1' }),
      short: await run.raise({ camera: 'SANDBOX Yard 1', seconds: 0.2 }),
      repeated: [await run.raise(REPEATED), await run.raise(REPEATED)],
    };
  });

  after(() => run.stop());

  async function postAlarm(payload: Message): Promise<string> {
    const message = alarmMessage(payload);
    const { status } = await post(`${run.nodeRed.url}/remote-monitoring/example-09`, message, PHRASE);
    assert.equal(status, 200);
    return String(message.messageId);
  }

  /** Where a message has come out. */
  async function outcome(messageId: string): Promise<string> {
    const isIt = (seen: { probe: string; msg: Message }): boolean =>
      ['alarm', 'filtered'].includes(seen.probe) && webhookOf(seen.msg).messageId === messageId;
    await run.nodeRed.until(() => run.nodeRed.seen.some(isIt), `an outcome of ${messageId}`);
    return run.nodeRed.seen.find(isIt)?.probe ?? '';
  }

  async function judged(judge: string, startTime: unknown): Promise<boolean> {
    const count = run.nodeRed.seen.length;
    await inject(run.nodeRed, `ask-${judge}`, { webhook: { startTime } });
    const isAnswer = ({ probe: name }: { probe: string }): boolean => /^(passes|filtered by day)$/.test(name);
    await run.nodeRed.until(() => run.nodeRed.seen.slice(count).some(isAnswer), 'the judgement');
    return run.nodeRed.seen.slice(count).find(isAnswer)?.probe === 'passes';
  }

  it('lets an alarm through that lasts', async () => {
    assert.equal(await outcome(raised.lasting.messageId), 'alarm');
  });

  it('filters a short alarm, counts it and shows it, and does nothing with its end', async () => {
    const { messageId, alarmId } = raised.short;
    assert.equal(await outcome(messageId), 'filtered');
    const msg = await run.nodeRed.message('filtered', (seen) => webhookOf(seen).messageId === messageId);
    assert.match(String(msg.payload), /^filtered, too short: SANDBOX/);
    assert.match(run.nodeRed.statuses('rvm-example-09-count').at(-1) ?? '', /too short: \d/);
    await run.nodeRed.message('nothing new', (seen) => eventOf(seen).alarmId === alarmId);
  });

  it('lets short alarms through that repeat', async () => {
    for (const { messageId } of raised.repeated) assert.equal(await outcome(messageId), 'alarm');
  });

  it('judges one message that tells of start and end, and lets it through where it comes late', async () => {
    const ended = (minutesAgo: number, name: string): Message => {
      const end = Date.now() - minutesAgo * 60_000;
      const text = (time: number): string => new Date(time).toISOString().replace('Z', '');
      return { eventStartTime: text(end - 500), eventEndTime: text(end), cameraName: name };
    };
    const [soon, late] = [await postAlarm(ended(0, 'Soon')), await postAlarm(ended(30, 'Late'))];
    assert.deepEqual([await outcome(soon), await outcome(late)], ['filtered', 'alarm']);
  });

  it('lets an alarm through whose time cannot be read', async () => {
    const payload = { eventStartTime: 'at noon', eventEndTime: 'later', cameraName: 'Clockless' };
    assert.equal(await outcome(await postAlarm(payload)), 'alarm');
  });

  it('lets an alarm through where list events has failed', async () => {
    const webhook = { messageId: 'unlisted', phase: 'start', receivedTime: new Date().toISOString() };
    await inject(run.nodeRed, 'unlisted', {
      payload: {},
      event: {},
      webhook,
      error: { code: 'STORE_FAILED' },
    });
    assert.equal(await outcome('unlisted'), 'alarm');
  });

  it('does not lose an alarm that waits when Node-RED is killed', async () => {
    const { messageId } = await run.raise({ camera: 'SANDBOX Loading Bay 1' });
    await run.nodeRed.message('waits', (msg) => webhookOf(msg).messageId === messageId);
    await run.restart('SIGKILL');
    assert.equal(await outcome(messageId), 'alarm');
  });

  it('settles what it lets through, what it filters, and all other messages', async () => {
    const open = async (): Promise<number> => {
      const count = run.nodeRed.at('listed').length;
      await inject(run.nodeRed, 'ask-open', {});
      await run.nodeRed.until(() => run.nodeRed.at('listed').length > count, 'the list');
      const { payload } = run.nodeRed.at('listed').at(-1) ?? {};
      return (payload as unknown[]).length;
    };
    const { alarmId, messageId } = await run.raise({ camera: 'SANDBOX North Fence 1', seconds: 0.2 });
    assert.equal(await outcome(messageId), 'filtered');
    await run.nodeRed.message('nothing new', (seen) => eventOf(seen).alarmId === alarmId);
    await eventually(async () => (await open()) === 0, 'the end of all events');
  });

  const CASES: [judge: string, time: string, passes: boolean, why: string][] = [
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
    ['wrong-hours', '2026-11-21T12:00:00Z', true, 'hours that cannot be read filter nothing'],
    ['wrong-zone', '2026-11-21T12:00:00Z', true, 'a time zone that there is not filters nothing'],
    ['wrong-place', '2026-11-21T12:00:00Z', true, 'a place that cannot be read filters nothing'],
  ];
  for (const [judge, time, passes, why] of CASES) {
    it(`${why}: ${passes ? 'passes' : 'filtered'}`, async () => {
      assert.equal(await judged(judge, time), passes);
    });
  }

  it('a time that cannot be read filters nothing', async () => {
    assert.equal(await judged('hours', null), true);
  });
});
