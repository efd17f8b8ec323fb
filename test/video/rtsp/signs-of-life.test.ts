import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  AAC,
  goodReply,
  reply,
  ScriptedRelay,
  sdp,
  VIDEO,
  type Script,
  PictureSource,
} from '../../support/rtsp/scripted-relay';
import { few } from '../../support/suite/lanes';
import { MovableClock, MovableTimers } from '../../support/time/virtual-time';
import { eventually } from '../../support/time/patience';
import { Streams, take, takeUntilFailure } from './streams';

/** Pictures, far more than are read ahead. */
const MANY = few(300, 300, 3000);

describe('signs of life to a relay', () => {
  const streams = new Streams();
  let relay: ScriptedRelay;

  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(async () => {
    await streams.close();
    mock.timers.reset();
    await relay.close();
  });

  /** What a relay was asked beyond the steps to the stream. */
  function asked(): string[] {
    return relay.methods.slice(3);
  }

  function lasting(session: string, script: Script = {}): Script {
    const SETUP: Script['SETUP'] = (request) => goodReply(request).replace('session-1;timeout=60', session);
    return { SETUP, ...script };
  }

  for (const [session, seconds] of [
    ['session-1;timeout=20', 10],
    ['session-1', 30],
    ['session-1;timeout=0', 30],
    ['session-1;timeout=86400', 30],
    ['session-1; Timeout = 1', 1],
  ] as const)
    it(`come twice before the relay gives up, and twice a minute at least: ${session}`, async () => {
      relay = await ScriptedRelay.start(lasting(session));
      await streams.open(relay.url);
      await eventually(() => asked().length === 1, 'the question what can be asked');
      mock.timers.tick(seconds * 1000 - 1);
      mock.timers.tick(1);
      await eventually(() => asked().length === 2, 'a sign of life');
      mock.timers.tick(seconds * 1000);
      await eventually(() => asked().length === 3, 'the next sign of life');
      assert.deepEqual(asked(), ['OPTIONS', 'GET_PARAMETER', 'GET_PARAMETER']);
      assert.equal(relay.last('GET_PARAMETER').headers.get('session'), 'session-1');
    });

  it('come also while pictures come', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url);
    relay.send((await PictureSource.load()).pictures(10));
    await take(stream, 10);
    mock.timers.tick(30_000);
    await eventually(() => asked().includes('GET_PARAMETER'), 'a sign of life');
  });

  it('are not asked for again where the relay has said already what it can be asked', async () => {
    relay = await ScriptedRelay.start({
      DESCRIBE: (request) => reply(request, 200, { Public: 'Play, Get_Parameter' }, sdp(VIDEO)),
    });
    await streams.open(relay.url);
    mock.timers.tick(30_000);
    await eventually(() => asked().length > 0, 'a sign of life');
    assert.deepEqual(asked(), ['GET_PARAMETER']);
  });

  it('are OPTIONS where the relay knows nothing else', async () => {
    relay = await ScriptedRelay.start({
      OPTIONS: (request) => reply(request, 200, { Public: 'PLAY, TEARDOWN' }),
    });
    await streams.open(relay.url);
    await eventually(() => asked().length === 1, 'the question what can be asked');
    // The first may be asked before the answer is read.
    await eventually(() => {
      mock.timers.tick(30_000);
      return asked().length > 2;
    }, 'signs of life');
    assert.ok(
      asked()
        .slice(2)
        .every((method) => method === 'OPTIONS'),
      asked().join(),
    );
  });

  it('are OPTIONS from the moment that the relay refuses the other', async () => {
    relay = await ScriptedRelay.start({
      OPTIONS: (request) => reply(request, 200),
      GET_PARAMETER: (request) => reply(request, 501),
    });
    await streams.open(relay.url);
    await eventually(() => asked().length === 1, 'the question what can be asked');
    mock.timers.tick(30_000);
    await eventually(() => asked().length === 3, 'another sign of life in its place');
    mock.timers.tick(30_000);
    await eventually(() => asked().length === 4, 'the next sign of life');
    assert.deepEqual(asked(), ['OPTIONS', 'GET_PARAMETER', 'OPTIONS', 'OPTIONS']);
  });

  it('that find no session any more end the stream', async () => {
    relay = await ScriptedRelay.start({ GET_PARAMETER: (request) => reply(request, 454) });
    const stream = await streams.open(relay.url);
    await eventually(() => asked().length === 1, 'the question what can be asked');
    mock.timers.tick(30_000);
    const { error } = await takeUntilFailure(stream, 'VIDEO_FAILED');
    assert.deepEqual(error.cause, { status: 454 });
  });

  it('are reports on both media, every five seconds', async () => {
    relay = await ScriptedRelay.start({ DESCRIBE: (request) => reply(request, 200, {}, sdp(VIDEO, AAC)) });
    const source = await PictureSource.load();
    const stream = await streams.open(relay.url);
    relay.send(source.pictures(2));
    await take(stream, 2);
    mock.timers.tick(5_000);
    await eventually(() => relay.packets.length === 2, 'the reports');
    assert.deepEqual(
      relay.packets.map(({ channel }) => channel),
      [1, 3],
    );
    const [first] = relay.packets;
    assert.equal(first?.data.readUInt8(1), 201);
    assert.equal(first.data.readUInt16BE(18), (source.sequence - 1) & 0xffff);
  });

  it('are missing once the stream is closed', async () => {
    relay = await ScriptedRelay.start();
    const stream = await streams.open(relay.url);
    await stream.close();
    const before = relay.methods.length;
    mock.timers.tick(120_000);
    assert.deepEqual([relay.methods.length, relay.packets.length], [before, 0]);
  });
});

describe('the silence of a relay', () => {
  const streams = new Streams();
  const clock = new MovableClock();
  const timers = new MovableTimers();
  let relay: ScriptedRelay;
  let source: PictureSource;

  beforeEach(async () => {
    source = await PictureSource.load();
    relay = await ScriptedRelay.start();
    clock.start();
    timers.start();
  });
  afterEach(async () => {
    timers.stop();
    clock.stop();
    await streams.close();
    await relay.close();
  });

  /** More than the ten seconds that a relay may be silent. */
  async function pass(): Promise<void> {
    clock.advance(11);
    timers.advance(11);
    // Timers that may be late look once more behind the sockets of their turn.
    await setImmediate();
  }

  it('is TIMEOUT to whoever waits for pictures', async () => {
    const stream = await streams.open(relay.url);
    relay.send(source.pictures(1));
    await take(stream, 1);
    await pass();
    await takeUntilFailure(stream, 'TIMEOUT');
  });

  it('is none to whoever does not ask for pictures', async () => {
    const stream = await streams.open(relay.url, { limits: { queuedFrames: 4 } });
    relay.send(source.pictures(MANY));
    await take(stream, 1);
    await pass();
    relay.send(source.bye());
    assert.equal((await take(stream, MANY + 1)).length, MANY - 1);
  });

  it('is TIMEOUT to whoever asks for pictures again', async () => {
    const stream = await streams.open(relay.url, { limits: { queuedFrames: 4 } });
    relay.send(source.pictures(MANY));
    await take(stream, 1);
    await pass();
    assert.equal((await take(stream, MANY - 1)).length, MANY - 1);
    await pass();
    await takeUntilFailure(stream, 'TIMEOUT');
  });
});
