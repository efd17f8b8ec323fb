import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { AAC, goodReply, reply, sdp, VIDEO } from '../../support/rtsp/scripted-relay';
import { few } from '../../support/suite/lanes';
import { MovableClock, MovableTimers } from '../../support/time/virtual-time';
import { eventually } from '../../support/time/patience';
import { PlayedRelay, take, takeUntilFailure } from './streams';

/** Pictures, far more than are read ahead. */
const MANY = few(300, 300, 3000);

describe('signs of life to a relay', () => {
  const at = new PlayedRelay();
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(() => mock.timers.reset());

  /** What a relay was asked beyond the steps to the stream. */
  const asked = (): string[] => at.relay.methods.slice(3);
  const hasAsked = (count: number, what: string): Promise<void> =>
    eventually(() => asked().length === count, what);

  for (const [session, seconds] of [
    ['session-1;timeout=20', 10],
    ['session-1', 30],
    ['session-1;timeout=0', 30],
    ['session-1;timeout=86400', 30],
    ['session-1; Timeout = 1', 1],
  ] as const)
    it(`come twice before the relay gives up, and twice a minute at least: ${session}`, async () => {
      await at.play({ SETUP: (request) => goodReply(request).replace('session-1;timeout=60', session) });
      await hasAsked(1, 'the question what can be asked');
      mock.timers.tick(seconds * 1000 - 1);
      mock.timers.tick(1);
      await hasAsked(2, 'a sign of life');
      mock.timers.tick(seconds * 1000);
      await hasAsked(3, 'the next sign of life');
      assert.deepEqual(asked(), ['OPTIONS', 'GET_PARAMETER', 'GET_PARAMETER']);
      assert.equal(at.relay.last('GET_PARAMETER').headers.get('session'), 'session-1');
    });

  it('come also while pictures come', async () => {
    const stream = await at.play();
    at.send(at.source.pictures(10));
    await take(stream, 10);
    mock.timers.tick(30_000);
    await eventually(() => asked().includes('GET_PARAMETER'), 'a sign of life');
  });

  it('are not asked for again where the relay has said already what it can be asked', async () => {
    await at.play({
      DESCRIBE: (request) => reply(request, 200, { Public: 'Play, Get_Parameter' }, sdp(VIDEO)),
    });
    mock.timers.tick(30_000);
    await eventually(() => asked().length > 0, 'a sign of life');
    assert.deepEqual(asked(), ['GET_PARAMETER']);
  });

  it('are OPTIONS where the relay knows nothing else', async () => {
    await at.play({ OPTIONS: (request) => reply(request, 200, { Public: 'PLAY, TEARDOWN' }) });
    await hasAsked(1, 'the question what can be asked');
    // The first sign may go out before the answer is read, and is then of the other kind.
    await eventually(() => {
      mock.timers.tick(30_000);
      return asked().length > 4;
    }, 'signs of life');
    assert.deepEqual(asked().slice(-2), ['OPTIONS', 'OPTIONS']);
  });

  it('are OPTIONS from the moment that the relay refuses the other', async () => {
    await at.play({
      OPTIONS: (request) => reply(request, 200),
      GET_PARAMETER: (request) => reply(request, 501),
    });
    await hasAsked(1, 'the question what can be asked');
    mock.timers.tick(30_000);
    await hasAsked(3, 'another sign of life in its place');
    mock.timers.tick(30_000);
    await hasAsked(4, 'the next sign of life');
    assert.deepEqual(asked(), ['OPTIONS', 'GET_PARAMETER', 'OPTIONS', 'OPTIONS']);
  });

  it('that find no session any more end the stream', async () => {
    const stream = await at.play({ GET_PARAMETER: (request) => reply(request, 454) });
    await hasAsked(1, 'the question what can be asked');
    mock.timers.tick(30_000);
    const { error } = await takeUntilFailure(stream, 'VIDEO_FAILED');
    assert.deepEqual(error.cause, { status: 454 });
  });

  it('are reports on both media, every five seconds', async () => {
    const stream = await at.play({ DESCRIBE: (request) => reply(request, 200, {}, sdp(VIDEO, AAC)) });
    at.send(at.source.pictures(2));
    await take(stream, 2);
    mock.timers.tick(5_000);
    await eventually(() => at.relay.packets.length === 2, 'the reports');
    const [first = assert.fail(), second] = at.relay.packets;
    assert.deepEqual([first.channel, second?.channel, first.data.readUInt8(1)], [1, 3, 201]);
    assert.equal(first.data.readUInt16BE(18), (at.source.sequence - 1) & 0xffff);
  });

  it('are missing once the stream is closed', async () => {
    const stream = await at.play();
    await stream.close();
    const before = asked();
    mock.timers.tick(120_000);
    assert.deepEqual([asked(), at.relay.packets], [before, []]);
  });
});

describe('the silence of a relay', () => {
  const at = new PlayedRelay();
  const clock = new MovableClock();
  const timers = new MovableTimers();

  beforeEach(async () => {
    await at.start();
    clock.start();
    timers.start();
  });
  afterEach(() => {
    timers.stop();
    clock.stop();
  });

  /** More than the ten seconds that a relay may be silent. */
  async function pass(): Promise<void> {
    clock.advance(11);
    timers.advance(11);
    // Timers that may be late look once more behind the sockets of their turn.
    await setImmediate();
  }

  it('is TIMEOUT to whoever waits for pictures', async () => {
    const stream = await at.open(at.relay.url);
    at.send(at.source.pictures(1));
    await take(stream, 1);
    await pass();
    await takeUntilFailure(stream, 'TIMEOUT');
  });

  it('is none to whoever does not ask for pictures', async () => {
    const stream = await at.open(at.relay.url, { limits: { queuedFrames: 4 } });
    at.send(at.source.pictures(MANY));
    await take(stream, 1);
    await pass();
    at.send(at.source.bye());
    assert.equal((await take(stream, MANY + 1)).length, MANY - 1);
  });

  it('is TIMEOUT to whoever asks for pictures again', async () => {
    const stream = await at.open(at.relay.url, { limits: { queuedFrames: 4 } });
    at.send(at.source.pictures(MANY));
    await take(stream, 1);
    await pass();
    assert.equal((await take(stream, MANY - 1)).length, MANY - 1);
    await pass();
    await takeUntilFailure(stream, 'TIMEOUT');
  });
});
