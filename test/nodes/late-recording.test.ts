import assert from 'node:assert/strict';
import type { LateWay } from '../../sandbox/world/faults';
import { bytesOf } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';
import { caller, type Message, barAt, clipIn, VideoFlow } from '../support/node-red/station-flow';
import { needs } from '../support/suite/programs';
import { numberIn } from '../support/video/encoded-video';
import { complaints, shownTimes } from '../support/video/played-clip';

function getClip(properties: Message = {}): FlowNode {
  return caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1, ...properties });
}

describe('a recording that comes late', () => {
  let flow: VideoFlow;
  before(async function () {
    needs(this, 'ffmpeg', 'ffprobe');
    flow = await VideoFlow.start('5');
  });
  afterEach(() => flow.endFaults());
  after(() => flow?.stop());

  it('is waited for where the relay has none yet, and the status says so', async () => {
    flow.fault({ kind: 'status', status: 404, count: 2 });
    await flow.deploy([getClip()]);
    const msg = await flow.station.through({ event: flow.event() });
    assert.equal(clipIn(msg).partial, false);
    await flow.station.shows(/connected/);
    const shown = flow.station.statuses();
    assert.ok(shown.includes('status.waitingForVideo'), shown.join(', '));
  });

  it('is given up at the end of the time to wait, with VIDEO_NOT_YET', async () => {
    flow.fault({ kind: 'status', status: 404 });
    await flow.deploy([getClip({ waitForVideo: 2 })]);
    assert.equal(await flow.station.code({ event: flow.event() }), 'VIDEO_NOT_YET');
    await flow.station.shows('status.videoNotYet');
  });

  it('is not waited for where there is no time to wait', async () => {
    flow.fault({ kind: 'status', status: 404, count: 1 });
    await flow.deploy([getClip({ waitForVideo: 0 })]);
    assert.equal(await flow.station.code({ event: flow.event() }), 'VIDEO_NOT_YET');
  });

  const WAYS: Readonly<Record<LateWay, string>> = {
    code: 'the service says that there is none',
    'not-found': 'the relay says that there is none',
    ends: 'the relay ends it before its first picture',
    short: 'the relay ends it where it is written so far',
  };
  for (const [way, meaning] of Object.entries(WAYS)) {
    it(`is waited for where ${meaning}: the clip is whole`, async () => {
      await flow.deploy([getClip({ seconds: 3 })]);
      await flow.station.fault({ kind: 'recording-late', way, seconds: 3 });
      const msg = await flow.station.through({ event: flow.event(justNow()) });
      const { seconds, partial, reason } = clipIn(msg);
      assert.deepEqual([partial, reason], [false, undefined]);
      // One that ends within a second of what is wanted is whole.
      assert.ok(seconds >= 2 && seconds <= 3.5, `${seconds} s`);
      const times = shownTimes(bytesOf(msg.payload));
      const pauses = times.slice(1).map((time, place) => time - (times[place] ?? 0));
      assert.ok(Math.max(...pauses) <= 1.5 * Math.min(...pauses), `no picture lacks: ${times.join(', ')}`);
      assert.equal(complaints(bytesOf(msg.payload)), '');
    });
  }

  for (const way of ['code', 'short'] as const) {
    it(`is waited for where ${WAYS[way]}: the picture is that of the alarm`, async () => {
      await flow.deploy([caller('rvm-get-picture', { mode: 'event', offsets: '1' })]);
      await flow.station.fault({ kind: 'recording-late', way, seconds: 3 });
      const time = justNow();
      const { payload } = await flow.station.through({ event: flow.event(time) });
      assert.equal(await numberIn(bytesOf(payload)), barAt(time + 1000));
    });
  }

  it('gives what there is, as partial, where the rest does not come in time', async () => {
    await flow.deploy([getClip({ seconds: 20, waitForVideo: 1 })]);
    await flow.station.fault({ kind: 'recording-late', way: 'short', seconds: 600 });
    const time = justNow() - 602_000;
    const { partial, reason, seconds } = clipIn(await flow.station.through({ event: flow.event(time) }));
    assert.deepEqual([partial, reason], [true, 'recording ends']);
    assert.ok(seconds > 0 && seconds < 10, `${seconds} s`);
  });
});

/** The start of an alarm that goes on, on a whole second. */
const justNow = (): number => Math.floor(Date.now() / 1000) * 1000;
