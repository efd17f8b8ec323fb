import assert from 'node:assert/strict';
import type { RtspFault } from '../../sandbox';
import type { LateWay } from '../../sandbox/world/faults';
import { bytesOf } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';
import {
  barAt,
  caller,
  type ClipFacts,
  clipIn,
  describeWith,
  VideoFlow,
  type Failure,
  LONG_AGO,
  type Message,
} from '../support/node-red/station-flow';
import { numberIn } from '../support/video/encoded-video';
import { complaints, probed, shownTimes } from '../support/video/played-clip';

type Made = ClipFacts & { content: Buffer };

const OPTIONS = { versions: ['5'], programs: ['ffmpeg', 'ffprobe'] } as const;

const getClip = (properties: Message = {}): FlowNode =>
  caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 1, ...properties });

const madeIn = (msg: Message): Made => ({ ...clipIn(msg), content: bytesOf(msg.payload) });

describeWith(VideoFlow, 'video that breaks', OPTIONS, (flow) => {
  afterEach(() => flow.relayLeft());

  const clip = async (properties: Message = {}): Promise<Made> =>
    madeIn(await flow.ask(getClip({ seconds: 4, ...properties })));

  async function failure(properties: Message = {}): Promise<Failure> {
    await flow.deploy([getClip(properties)]);
    return flow.station.failure({ event: flow.event() });
  }

  function assertPlays({ content, frames, seconds }: Made): void {
    assert.equal(complaints(content), '');
    const { streams, format } = probed(content);
    assert.equal(Number(streams[0]?.nb_read_packets), frames);
    assert.ok(Math.abs(Number(format.duration) - seconds) < 0.01);
  }

  for (const [kind, most, reason] of [
    ['drop-connection', 8, 'broken off'],
    ['cut-frame', 8, 'broken off'],
    ['stall', 6, 'stalled'],
  ] as const)
    it(`is given up to there by get clip, partial, after ${kind}`, async () => {
      flow.fault({ kind, frames: most });
      const made = await clip();
      assert.deepEqual([made.partial, made.reason], [true, reason]);
      // A connection that is reset may take what was on its way with it.
      const least = kind === 'stall' ? most : 1;
      assert.ok(made.frames >= least && made.frames <= most, `${made.frames} pictures`);
      assertPlays(made);
    });

  for (const kind of ['lose', 'repeat', 'reorder'] as const)
    it(`still plays where packets were lost, or came twice or in another order: ${kind}`, async () => {
      // So seldom that some key frames come whole.
      flow.fault({ kind, every: 83 });
      const made = await clip({ seconds: 1 });
      assertPlays(made);
      assert.ok(made.frames > 0);
    });

  it('is whole where sequence numbers and time stamps jump, and nothing else', async () => {
    flow.fault({ kind: 'jump', frames: 4 });
    assertPlays(await clip({ seconds: 2 }));
  });

  it('begins at the next key frame where the first is missing', async () => {
    flow.fault({ kind: 'no-key-frame' });
    const made = await clip({ seconds: 3 });
    assertPlays(made);
    const late = Date.parse(made.from) - LONG_AGO;
    assert.ok(late >= 800 && late <= 1000, `${late} ms behind the alarm`);
  });

  it('is tried again where it broke off before its first picture, and comes', async () => {
    for (const kind of ['garbage', 'wrong-cseq', 'reset'] as const) flow.fault({ kind, count: 1 });
    assert.equal((await clip({ seconds: 1 })).partial, false);
  });

  for (const [what, fault, code, properties] of [
    ['sends nothing but garbage', { kind: 'garbage' }, 'VIDEO_FAILED', {}],
    ['sends nothing but answers to something else', { kind: 'wrong-cseq' }, 'VIDEO_FAILED', {}],
    ['sends nothing but descriptions without an end', { kind: 'oversize-sdp' }, 'VIDEO_FAILED', {}],
    ['sends nothing but an answer without an end', { kind: 'oversize-content-length' }, 'VIDEO_FAILED', {}],
    ['answers nothing, at the time limit', { kind: 'silent' }, 'TIMEOUT', { deadline: 2 }],
    [
      'sends the viewer to another host, and leads nowhere else',
      { kind: 'redirect', to: 'rtsp://192.0.2.1/video' },
      'UNTRUSTED_LINK',
      { deadline: 5 },
    ],
  ] as [string, RtspFault, string, Message][])
    it(`ends with ${code} at a relay that ${what}`, async () => {
      flow.fault(fault);
      const { code: said, message } = await failure(properties);
      assert.equal(said, code);
      assert.doesNotMatch(message, /rtsp:|127\.0\.0\.1|192\.0\.2\.1/);
    });

  it('ends with VIDEO_FAILED and the status of a relay that refuses', async () => {
    flow.fault({ kind: 'status', status: 403 });
    const { code, cause } = await failure();
    assert.deepEqual([code, cause.status], ['VIDEO_FAILED', 403]);
  });

  it('ends with VIDEO_FAILED at once where the relay does not know the camera of live video', async () => {
    flow.fault({ kind: 'status', status: 404 });
    const { code, cause } = await failure({ mode: 'live', camera: flow.camera.id, cameraType: 'str' });
    assert.deepEqual([code, cause.status], ['VIDEO_FAILED', 404]);
    assert.ok(!flow.station.statuses().includes('status.waitingForVideo'));
  });

  it('leaves Node-RED alive', async () => assert.equal((await clip({ seconds: 1 })).partial, false));
});

const justNow = (): number => Math.floor(Date.now() / 1000) * 1000;

describeWith(VideoFlow, 'a recording that comes late', OPTIONS, (flow) => {
  async function code(waitForVideo: number): Promise<string> {
    await flow.deploy([getClip({ waitForVideo })]);
    return flow.station.code({ event: flow.event() });
  }

  it('is waited for where the relay has none yet, and the status says so', async () => {
    flow.fault({ kind: 'status', status: 404, count: 2 });
    assert.equal(clipIn(await flow.ask(getClip())).partial, false);
    await flow.station.shows(/connected/);
    const shown = flow.station.statuses();
    assert.ok(shown.includes('status.waitingForVideo'), shown.join(', '));
  });

  it('is given up at the end of the time to wait, with VIDEO_NOT_YET', async () => {
    flow.fault({ kind: 'status', status: 404 });
    assert.equal(await code(2), 'VIDEO_NOT_YET');
    await flow.station.shows('status.videoNotYet');
  });

  it('is not waited for where there is no time to wait', async () => {
    flow.fault({ kind: 'status', status: 404, count: 1 });
    assert.equal(await code(0), 'VIDEO_NOT_YET');
  });

  async function comesLate(way: LateWay, time: number, node: FlowNode, seconds = 3): Promise<Message> {
    await flow.deploy([node]);
    await flow.station.fault({ kind: 'recording-late', way, seconds });
    return flow.station.through({ event: flow.event(time) });
  }

  const WAYS: Readonly<Record<LateWay, string>> = {
    code: 'the service says that there is none',
    'not-found': 'the relay says that there is none',
    ends: 'the relay ends it before its first picture',
    short: 'the relay ends it where it is written so far',
  };
  for (const [way, meaning] of Object.entries(WAYS) as [LateWay, string][])
    it(`is waited for where ${meaning}: the clip is whole`, async () => {
      const made = madeIn(await comesLate(way, justNow(), getClip({ seconds: 3 })));
      assert.deepEqual([made.partial, made.reason], [false, undefined]);
      // One that ends within a second of what is wanted is whole.
      assert.ok(made.seconds >= 2 && made.seconds <= 3.5, `${made.seconds} s`);
      const times = shownTimes(made.content);
      const pauses = times.slice(1).map((time, place) => time - (times[place] ?? 0));
      assert.ok(Math.max(...pauses) <= 1.5 * Math.min(...pauses), `no picture lacks: ${times.join(', ')}`);
      assert.equal(complaints(made.content), '');
    });

  for (const way of ['code', 'short'] as const)
    it(`is waited for where ${WAYS[way]}: the picture is that of the alarm`, async () => {
      const time = justNow();
      const picture = caller('rvm-get-picture', { mode: 'event', offsets: '1' });
      const { payload } = await comesLate(way, time, picture);
      assert.equal(await numberIn(bytesOf(payload)), barAt(time + 1000));
    });

  it('gives what there is, as partial, where the rest does not come in time', async () => {
    const node = getClip({ seconds: 20, waitForVideo: 1 });
    const made = clipIn(await comesLate('short', justNow() - 602_000, node, 600));
    assert.deepEqual([made.partial, made.reason], [true, 'recording ends']);
    assert.ok(made.seconds > 0 && made.seconds < 10, `${made.seconds} s`);
  });
});
