import assert from 'node:assert/strict';
import { visitOf } from '../../sandbox/scene/packs';
import { parseIsoTime, zonelessTime } from '../../sandbox/text';
import { Clock } from '../../sandbox/world/clock';
import { Incidents } from '../../sandbox/world/incidents';

describe('the clock of the sandbox', () => {
  let clock: Clock;
  beforeEach(() => {
    clock = new Clock();
  });
  afterEach(() => clock.close());

  it('awaits what is under way before it moves on', async () => {
    let took = NaN;
    await new Promise<void>((resolve) => {
      clock.schedule(0, async () => {
        const startedAt = clock.now();
        resolve();
        await new Promise((done) => setTimeout(done, 20));
        took = clock.now() - startedAt;
      });
    });
    await clock.advance(3600);
    assert.ok(took < 3_600_000);
  });

  it('runs two advances one after the other', async () => {
    const start = clock.now();
    clock.schedule(50_000, () => new Promise((resolve) => setImmediate(resolve)));
    await Promise.all([clock.advance(100), clock.advance(200)]);
    assert.equal(Math.floor((clock.now() - start) / 1000), 300);
  });

  it('forgets a task that was taken back, and takes none once it is closed', async () => {
    const ran: string[] = [];
    clock.schedule(1000, () => void ran.push('taken back'))();
    await clock.advance(10);
    clock.close();
    clock.schedule(0, () => void ran.push('closed'));
    await clock.advance(10);
    assert.deepEqual(ran, []);
  });

  it('goes on after a task that failed', async () => {
    let ran = false;
    clock.schedule(1000, () => Promise.reject(new Error('of the task')));
    clock.schedule(2000, () => void (ran = true));
    await clock.advance(10);
    assert.ok(ran);
  });
});

describe('the incidents of the sandbox', () => {
  it('are known by camera, the last one first, by their second', () => {
    const incidents = new Incidents();
    incidents.add('one', 5_999);
    incidents.add('two', 7_000);
    incidents.add('one', 9_000);
    assert.deepEqual([incidents.of('one'), incidents.of('three')], [[9, 5], []]);
  });

  it('are forgotten where there are too many, first those of the camera whose last one is the longest ago', () => {
    const incidents = new Incidents();
    incidents.add('quiet', 1000);
    for (let i = 0; i < 5000; i++) incidents.add('busy', i * 1000);
    assert.deepEqual([incidents.of('quiet'), incidents.of('busy').length], [[], 5000]);
  });

  it('are seen from the second before the alarm on, for ten seconds', () => {
    const seen = [98, 99, 100, 108, 109].map((second) => visitOf(100, second));
    assert.deepEqual(seen, [undefined, 0, 1, 9, undefined]);
  });
});

describe('times of the sandbox', () => {
  const TIME = Date.UTC(2026, 2, 4, 5, 6, 7);

  for (const [text, time] of [
    ['2026-03-04T05:06:07', TIME],
    ['2026-03-04T05:06:07Z', TIME],
    ['2026-03-04T05:06:07.0000000', TIME],
    ['2026-03-04T05:06:07.1239999', TIME + 123],
    ['20260304T050607Z', TIME],
    ['2026-03-04T06:06:07+01:00', TIME],
    ['2026-03-04T04:36:07-0030', TIME],
    ['', undefined],
    ['live', undefined],
    ['2026-13-04T05:06:07', undefined],
    ['2026-02-30T05:06:07', undefined],
    ['2026-03-04', undefined],
    ['2026-03-04 05:06:07', undefined],
    ['1772600767', undefined],
  ] as const)
    it(`${time === undefined ? 'refuses' : 'reads'} "${text}"`, () => assert.equal(parseIsoTime(text), time));

  it('writes a time without zone and with fraction digits', () => {
    assert.equal(zonelessTime(TIME + 120), '2026-03-04T05:06:07.1200000');
  });
});
