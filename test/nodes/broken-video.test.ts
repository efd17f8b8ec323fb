import assert from 'node:assert/strict';
import { bytesOf } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';
import {
  caller,
  type Failure,
  type Message,
  clipIn,
  LONG_AGO,
  VideoFlow,
  type ClipFacts,
} from '../support/node-red/station-flow';
import { needs } from '../support/suite/programs';
import { complaints, probed } from '../support/video/played-clip';

function getClip(properties: Message = {}): FlowNode {
  return caller('rvm-get-clip', { mode: 'event', preRoll: 0, seconds: 4, ...properties });
}

describe('video that breaks', () => {
  let flow: VideoFlow;

  before(async function () {
    needs(this, 'ffmpeg', 'ffprobe');
    flow = await VideoFlow.start('5');
  });
  afterEach(async () => {
    await flow.endFaults();
    await flow.relayLeft();
  });
  after(() => flow?.stop());

  async function clip(properties: Message = {}): Promise<{ facts: ClipFacts; bytes: Buffer }> {
    await flow.deploy([getClip(properties)]);
    const msg = await flow.station.through({ event: flow.event() });
    return { facts: clipIn(msg), bytes: bytesOf(msg.payload) };
  }

  async function failure(properties: Message = {}): Promise<Failure> {
    await flow.deploy([getClip(properties)]);
    return flow.station.failure({ event: flow.event() });
  }

  /** What a clip tells is what a player finds. */
  function assertPlays({ facts, bytes }: { facts: ClipFacts; bytes: Buffer }): void {
    assert.equal(complaints(bytes), '');
    const { streams, format } = probed(bytes);
    assert.equal(Number(streams[0]?.nb_read_packets), facts.frames);
    assert.ok(Math.abs(Number(format.duration) - facts.seconds) < 0.01);
  }

  for (const kind of ['drop-connection', 'cut-frame'] as const) {
    it(`is given up to there by get clip, partial, after ${kind}`, async () => {
      flow.fault({ kind, frames: 8 });
      const made = await clip();
      assert.deepEqual([made.facts.partial, made.facts.reason], [true, 'broken off']);
      // A connection that is reset may take what was on its way with it.
      assert.ok(made.facts.frames > 0 && made.facts.frames <= 8, `${made.facts.frames} pictures`);
      assertPlays(made);
    });
  }

  it('is given up to there where the relay falls silent', async () => {
    flow.fault({ kind: 'stall', frames: 6 });
    const made = await clip();
    assert.deepEqual([made.facts.partial, made.facts.reason, made.facts.frames], [true, 'stalled', 6]);
    assertPlays(made);
  });

  it('still plays where packets were lost, or came twice or in another order', async () => {
    for (const kind of ['lose', 'repeat', 'reorder'] as const) {
      // So seldom that some key frames come whole.
      flow.fault({ kind, every: 83 });
      const made = await clip({ seconds: 1 });
      assertPlays(made);
      assert.ok(made.facts.frames > 0, kind);
      await flow.endFaults();
    }
  });

  it('is whole where sequence numbers and time stamps jump, and nothing else', async () => {
    flow.fault({ kind: 'jump', frames: 4 });
    assertPlays(await clip({ seconds: 2 }));
  });

  it('begins at the next key frame where the first is missing', async () => {
    flow.fault({ kind: 'no-key-frame' });
    const made = await clip({ seconds: 3 });
    assertPlays(made);
    const late = Date.parse(made.facts.from) - LONG_AGO;
    assert.ok(late >= 800 && late <= 1000, `${late} ms behind the alarm`);
  });

  it('is tried again where it broke off before its first picture, and comes', async () => {
    for (const kind of ['garbage', 'wrong-cseq', 'reset'] as const) flow.fault({ kind, count: 1 });
    const { facts } = await clip({ seconds: 1 });
    assert.equal(facts.partial, false);
  });

  for (const [what, fault, code] of [
    ['garbage', { kind: 'garbage' }, 'VIDEO_FAILED'],
    ['answers to something else', { kind: 'wrong-cseq' }, 'VIDEO_FAILED'],
    ['descriptions without an end', { kind: 'oversize-sdp' }, 'VIDEO_FAILED'],
    ['an answer without an end', { kind: 'oversize-content-length' }, 'VIDEO_FAILED'],
  ] as const) {
    it(`ends with ${code} at a relay that sends nothing but ${what}`, async () => {
      flow.fault(fault);
      const { code: said, message } = await failure();
      assert.equal(said, code);
      assert.doesNotMatch(message, /rtsp:|127\.0\.0\.1/);
    });
  }

  it('ends with VIDEO_FAILED and the status of a relay that refuses', async () => {
    flow.fault({ kind: 'status', status: 403 });
    const { code, cause } = await failure();
    assert.deepEqual([code, cause.status], ['VIDEO_FAILED', 403]);
  });

  it('ends with VIDEO_FAILED at once where the relay does not know the camera of live video', async () => {
    flow.fault({ kind: 'status', status: 404 });
    await flow.deploy([getClip({ mode: 'live', camera: flow.camera.id, cameraType: 'str' })]);
    const { code, cause } = await flow.station.failure({});
    assert.deepEqual([code, cause.status], ['VIDEO_FAILED', 404]);
    assert.ok(!flow.station.statuses().includes('status.waitingForVideo'));
  });

  it('ends with TIMEOUT at the time limit where the relay answers nothing', async () => {
    flow.fault({ kind: 'silent' });
    const { code } = await failure({ deadline: 2 });
    assert.equal(code, 'TIMEOUT');
  });

  it('leads nowhere else: a relay that sends the viewer to another host is left alone', async () => {
    flow.fault({ kind: 'redirect', to: 'rtsp://192.0.2.1/video' });
    const { code, message } = await failure({ deadline: 5 });
    assert.equal(code, 'UNTRUSTED_LINK');
    assert.doesNotMatch(message, /192\.0\.2\.1/);
  });

  it('leaves Node-RED alive', async () => {
    const { facts } = await clip({ seconds: 1 });
    assert.equal(facts.partial, false);
  });
});
