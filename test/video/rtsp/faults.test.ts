import assert from 'node:assert/strict';
import type { RvmErrorCode } from '../../../lib/error';
import type { RtspFault, RtspServer } from '../../../sandbox/rtsp/server';
import { FRAMES_PER_SECOND } from '../../../sandbox/scene/packs';
import { ServerUnderTest, live, recorded } from '../../rtsp/server-under-test';
import { eventually } from '../../support/time/patience';
import { TimerWatch } from '../../support/time/virtual-time';
import { Streams, take, takePictures, takeUntilFailure } from './streams';

/** Milliseconds: short where the relay shall be found silent, long where it is never to be. */
const [SHORT, LONG] = [300, 60_000];
/** Pictures of a recording. */
const WHOLE = 60 * FRAMES_PER_SECOND;

describe('a stream of a relay in trouble', () => {
  const under = new ServerUnderTest();
  const streams = new Streams();
  const timers = new TimerWatch();

  beforeEach(() => timers.start());
  afterEach(async () => {
    timers.stop();
    await under.stop();
  });

  async function troubled(...faults: RtspFault[]): Promise<RtspServer> {
    const server = await under.start({ pace: Infinity });
    for (const fault of faults) server.setFault(fault);
    return server;
  }

  /** Neither a session of the server nor a timer of ours. */
  async function assertNothingIsOpen(server: RtspServer): Promise<void> {
    await eventually(() => server.sessionCount === 0, 'the end of the session');
    await eventually(() => timers.pending.length === 0, `the end of the timers: ${timers.pending.join()}`);
  }

  const REFUSALS: [RtspFault, RvmErrorCode][] = [];
  for (const method of ['DESCRIBE', 'SETUP', 'PLAY'] as const) {
    REFUSALS.push(
      [{ kind: 'silent', method }, 'TIMEOUT'],
      [{ kind: 'slow', ms: LONG, method }, 'TIMEOUT'],
      [{ kind: 'reset', method }, 'VIDEO_FAILED'],
      [{ kind: 'garbage', method }, 'VIDEO_FAILED'],
      [{ kind: 'wrong-cseq', method }, 'VIDEO_FAILED'],
      [{ kind: 'redirect', method, to: 'loop' }, 'VIDEO_FAILED'],
      [{ kind: 'redirect', method, to: 'rtsp://relay.example/secret' }, 'UNTRUSTED_LINK'],
      [{ kind: 'redirect', method, to: 'http://127.0.0.1/secret' }, 'VIDEO_FAILED'],
    );
  }
  for (const kind of ['no-content-length', 'oversize-content-length', 'oversize-sdp'] as const)
    REFUSALS.push([{ kind }, 'VIDEO_FAILED']);

  for (const [fault, code] of REFUSALS) {
    const where = 'method' in fault ? ` to ${fault.method}` : '';
    const to = 'to' in fault ? ` ${fault.to}` : '';
    it(`fails with ${code}: ${fault.kind}${to}${where}`, async () => {
      const server = await troubled(fault);
      await streams.refusal(server.grant(live()), code, { limits: { answerMs: SHORT } });
      await assertNothingIsOpen(server);
    });
  }

  for (const method of ['DESCRIBE', 'SETUP', 'PLAY'] as const)
    for (const status of [401, 403, 404, 453, 454, 457, 461, 500, 503])
      it(`is refused with ${status} to ${method}`, async () => {
        const server = await troubled({ kind: 'status', status, method });
        const { cause } = await streams.refusal(server.grant(live()), 'VIDEO_FAILED');
        assert.deepEqual(cause, { status });
        await assertNothingIsOpen(server);
      });

  it('is slow, and comes all the same', async () => {
    const server = await troubled({ kind: 'slow', ms: 100 });
    assert.equal((await take(await streams.open(server.grant(recorded())), 5)).length, 5);
  });

  for (const method of ['DESCRIBE', 'PLAY'] as const)
    it(`goes on where ${method} leads, which gets another session`, async () => {
      const server = await troubled({ kind: 'redirect', method, to: 'new' });
      const [first] = await takePictures(await streams.open(server.grant(recorded())), 1);
      assert.ok(first?.key);
      assert.equal(server.sessionCount, 1);
    });

  for (const method of ['OPTIONS', 'TEARDOWN'] as const)
    it(`is not harmed where ${method} is not answered`, async () => {
      const server = await troubled({ kind: 'silent', method });
      const stream = await streams.open(server.grant(recorded()), { limits: { farewellMs: SHORT } });
      assert.equal((await take(stream, 1000)).length, WHOLE);
      await assertNothingIsOpen(server);
    });

  it('fails with TIMEOUT behind what came before the relay fell silent', async () => {
    const server = await troubled({ kind: 'stall', frames: 7 });
    const stream = await streams.open(server.grant(recorded()), { limits: { silenceMs: SHORT } });
    assert.equal((await takeUntilFailure(stream, 'TIMEOUT')).frames.length, 7);
    await assertNothingIsOpen(server);
  });

  for (const [kind, what] of [
    ['drop-connection', 'the connection was reset'],
    ['cut-frame', 'the connection ended within a packet'],
  ] as const)
    it(`fails with VIDEO_FAILED behind what came before ${what}`, async () => {
      const server = await troubled({ kind, frames: 7 });
      const { frames } = await takeUntilFailure(await streams.open(server.grant(recorded())), 'VIDEO_FAILED');
      // What a reset overtakes is lost.
      assert.ok(kind === 'drop-connection' ? frames.length <= 7 : frames.length === 7, String(frames.length));
      await assertNothingIsOpen(server);
    });

  it('leaves out what lost packets made unreadable', async () => {
    const server = await troubled({ kind: 'lose', every: 50 });
    const stream = await streams.open(server.grant(recorded()));
    const pictures = await takePictures(stream, 1000);
    assert.ok(pictures[0]?.key);
    assert.ok(pictures.length > 20 && pictures.length < WHOLE, String(pictures.length));
  });

  for (const kind of ['repeat', 'reorder'] as const)
    it(`has all pictures once, in their order, where packets come otherwise: ${kind}`, async () => {
      const server = await troubled({ kind, every: 10 });
      const pictures = await takePictures(await streams.open(server.grant(recorded())), 1000);
      const times = pictures.map(({ time }) => Math.round(time * FRAMES_PER_SECOND));
      assert.deepEqual(times, [...times.keys()]);
      // One that is to come behind the next one never comes where there is none.
      assert.ok(times.length >= WHOLE - 1, String(times.length));
    });

  it('begins with the first key frame, where another picture comes first', async () => {
    const server = await troubled({ kind: 'no-key-frame' });
    const [first] = await takePictures(await streams.open(server.grant(recorded())), 1);
    assert.ok(first?.key);
    assert.equal(Math.round(first.time * FRAMES_PER_SECOND), FRAMES_PER_SECOND - 1);
  });

  for (const kind of ['no-parameter-sets', 'aggregate-parameter-sets', 'lone-bye'] as const)
    it(`is whole in spite of ${kind}`, async () => {
      const server = await troubled({ kind });
      assert.equal((await take(await streams.open(server.grant(recorded())), 1000)).length, WHOLE);
      await assertNothingIsOpen(server);
    });

  it('goes on with a key frame behind a jump of its numbers', async () => {
    const server = await troubled({ kind: 'jump', frames: 7 });
    const pictures = await takePictures(await streams.open(server.grant(recorded())), 1000);
    assert.deepEqual([pictures[6]?.key, pictures[7]?.key], [false, true]);
  });
});
