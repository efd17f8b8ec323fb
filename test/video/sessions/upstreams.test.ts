import assert from 'node:assert/strict';
import type { RtspWanted } from '../../../lib/cloud/calls';
import { CancelToken } from '../../../lib/concurrency/signals';
import { RvmError } from '../../../lib/error';
import { type MomentClock, SharedStreams, type JoinOptions } from '../../../lib/video/sessions/shared-stream';
import { SessionSlots, type VideoSource } from '../../../lib/video/sessions/session-slots';
import { endOfTurn } from '../../support/time/event-loop';
import { eventually } from '../../support/time/patience';
import { keyAt, MadeStream, pictureAt } from '../../support/video/made-stream';

const ALARM = Date.UTC(2026, 2, 4, 5, 6, 7);
const CHOICE = { quality: 'high', whenOffline: 'fail' as const };

function recorded(time = ALARM, camera = 'Gate', quality = 'high'): RtspWanted {
  return { mode: 'recorded', camera, time, preRoll: 0, ...CHOICE, quality };
}

const LIVE: RtspWanted = { mode: 'live', camera: 'Gate', ...CHOICE };

describe('RTSP sessions that several read', () => {
  let streams: MadeStream[];
  let upstreams: SharedStreams;
  let places: SessionSlots;
  let asked: RtspWanted[];
  let openedLive: boolean[];
  const client: VideoSource['client'] = {
    openRtsp: async (wanted) => {
      asked.push(wanted);
      const device = { id: 'gate', name: 'Gate', status: 'online' };
      const relay = { scheme: 'rtsp', host: 'relay.invalid', port: 554 };
      const { mode, quality } = wanted;
      return {
        url: 'rtsp://relay.invalid/x',
        mode,
        cameraId: 'gate',
        cameraRemoteId: 'g',
        quality,
        relay,
        device,
        requests: 1,
        ms: 1,
      };
    },
  };
  beforeEach(() => {
    streams = [];
    asked = [];
    openedLive = [];
    places = new SessionSlots(2);
    const open = (_url: string, _signal: AbortSignal, isLive: boolean): Promise<MadeStream> => {
      openedLive.push(isLive);
      const stream = new MadeStream();
      streams.push(stream);
      return Promise.resolve(stream);
    };
    upstreams = new SharedStreams(places, open, () => ALARM + 60_000);
  });

  const join = (wanted: RtspWanted, options: Partial<JoinOptions> = {}): ReturnType<SharedStreams['join']> =>
    upstreams.join({ client, wanted }, { ending: new CancelToken(), slow: 'stream waits', ...options });

  async function streamNumber(index: number): Promise<MadeStream> {
    await eventually(() => streams.length > index, 'a stream');
    const stream = streams[index];
    assert.ok(stream);
    return stream;
  }

  it('tell live video, whose end is none, from a recording', async () => {
    const both = [join(recorded()), join(LIVE)];
    for (const index of [0, 1]) (await streamNumber(index)).send(keyAt(0));
    await Promise.all(both);
    assert.deepEqual(openedLive, [false, true]);
  });

  it('are one for two who want the same at the same time', async () => {
    const both = [join(recorded()), join(recorded())];
    (await streamNumber(0)).send(keyAt(0));
    await Promise.all(both);
    assert.equal(asked.length, 1);
  });

  it('are one for a second who wants what the first has just had', async () => {
    const first = join(recorded(ALARM - 1000));
    const stream = await streamNumber(0);
    stream.send(keyAt(0), pictureAt(0.5), keyAt(1), pictureAt(1.5));
    await first;
    await eventually(() => stream.taken === 4, 'all frames');
    const { reader } = await join(recorded());
    assert.equal(asked.length, 1);
    for await (const frame of reader) {
      assert.equal(frame.time, 1);
      break;
    }
  });

  const others: readonly (readonly [string, RtspWanted])[] = [
    ['another camera', recorded(ALARM, 'Yard')],
    ['another time', recorded(ALARM - 3000)],
    ['another quality', recorded(ALARM, 'Gate', 'low')],
    ['live video', LIVE],
    ['a camera that is offline, too', { ...recorded(), whenOffline: 'try' }],
  ];
  for (const [what, wanted] of others) {
    it(`are two where the second wants ${what}`, async () => {
      const first = join(recorded());
      (await streamNumber(0)).send(keyAt(0));
      await first;
      const second = join(wanted);
      (await streamNumber(1)).send(keyAt(0));
      await second;
      assert.equal(asked.length, 2);
    });
  }

  it('begin for a later viewer of live video with the newest key frame', async () => {
    const first = join(LIVE);
    const stream = await streamNumber(0);
    stream.send(keyAt(0), pictureAt(0.5), keyAt(1), pictureAt(1.5));
    await first;
    await eventually(() => stream.taken === 4, 'all frames');
    const { reader } = await join(LIVE);
    const times: number[] = [];
    stream.end();
    for await (const frame of reader) times.push(frame.time);
    assert.deepEqual([asked.length, times], [1, [1, 1.5]]);
  });

  it('are closed, and their place is free, when the last reader has left', async () => {
    const first = join(recorded());
    const stream = await streamNumber(0);
    stream.send(keyAt(0));
    const [one, other] = [await first, await join(recorded())];
    await one.reader.close();
    assert.equal(stream.closed, false);
    await other.reader.close();
    assert.deepEqual([stream.closed, upstreams.count, places.taken], [true, 0, 0]);
  });

  it('take nobody in, and keep their place, while they say good-bye to the relay', async () => {
    const first = join(LIVE);
    const stream = await streamNumber(0);
    const farewell = stream.closeSlowly();
    stream.send(keyAt(0));
    const { reader } = await first;
    const left = reader.close();
    const second = join(LIVE);
    (await streamNumber(1)).send(keyAt(0));
    await second;
    assert.deepEqual([asked.length, places.taken], [2, 2]);
    farewell();
    await left;
    assert.deepEqual([upstreams.count, places.taken], [1, 1]);
  });

  it('wait for a reader that is slow, so that nothing piles up', async () => {
    const first = join(recorded());
    const stream = await streamNumber(0);
    const large = Buffer.alloc(1024 * 1024);
    stream.send(keyAt(0));
    const { reader } = await first;
    for (let count = 1; count <= 20; count += 1) stream.send(pictureAt(count / 10, { nals: [large] }));
    await eventually(() => stream.taken >= 5, 'what there is room for');
    assert.ok(stream.taken < 10, `${stream.taken} frames were taken`);
    stream.end();
    let count = 0;
    for await (const frame of reader) count += frame.kind === 'video' ? 1 : 0;
    assert.equal(count, 21);
  });

  it('leave pictures out for a viewer that is slow, up to the next key frame', async () => {
    const first = join(LIVE, { slow: 'pictures are left out' });
    const stream = await streamNumber(0);
    const large = Buffer.alloc(1024 * 1024);
    stream.send(keyAt(0));
    const { reader } = await first;
    for (let count = 1; count <= 9; count += 1) stream.send(pictureAt(count / 10, { nals: [large] }));
    stream.send(keyAt(1), pictureAt(1.1));
    stream.end();
    await eventually(() => stream.taken === 12, 'all frames');
    const times: number[] = [];
    for await (const frame of reader) times.push(frame.time);
    assert.deepEqual(times.slice(-2), [1, 1.1]);
    assert.ok(times.length < 12);
  });

  it('give a viewer that comes later all that was kept for it', async () => {
    const first = join(recorded());
    const stream = await streamNumber(0);
    const nals = [Buffer.alloc(1024 * 1024)];
    stream.send(keyAt(0), ...[1, 2, 3, 4, 5, 6].map((time) => pictureAt(time, { nals })));
    const { reader } = await first;
    let seen = 0;
    for await (const frame of reader) if (frame.time > 0 && ++seen === 6) break;
    const { reader: late } = await join(recorded(), { slow: 'pictures are left out' });
    stream.end();
    const times: number[] = [];
    for await (const frame of late) times.push(frame.time);
    assert.deepEqual([asked.length, times], [1, [0, 1, 2, 3, 4, 5, 6]]);
  });

  it('say that there is no recording where the relay ends before the first picture', async () => {
    const first = join(recorded());
    const stream = await streamNumber(0);
    stream.end();
    await assert.rejects(first, { code: 'VIDEO_NOT_YET' });
    assert.deepEqual([stream.closed, upstreams.count, places.taken], [true, 0, 0]);
  });

  it('say nothing of recordings where live video ends before the first picture', async () => {
    const first = join(LIVE);
    (await streamNumber(0)).end();
    await assert.rejects(first, { code: 'VIDEO_FAILED', message: /live video/ });
  });

  it('tell all readers that the relay broke off', async () => {
    const first = join(recorded());
    const stream = await streamNumber(0);
    stream.send(keyAt(0));
    const { reader } = await first;
    stream.end(new RvmError('VIDEO_FAILED', 'It broke off.'));
    await assert.rejects(
      async () => {
        for await (const frame of reader) assert.ok(frame);
      },
      { code: 'VIDEO_FAILED' },
    );
    assert.equal(upstreams.count, 0);
  });

  it('go on being opened for one when another gives up', async () => {
    const ending = new CancelToken();
    const [impatient, patient] = [join(recorded(), { ending }), join(recorded())];
    const stream = await streamNumber(0);
    ending.abort(new RvmError('CANCELLED', 'Enough.'));
    await assert.rejects(impatient, { code: 'CANCELLED' });
    stream.send(keyAt(0));
    await patient;
    assert.equal(asked.length, 1);
  });

  it('are not opened to their end when nobody wants them any more', async () => {
    const ending = new CancelToken();
    const first = join(recorded(), { ending });
    const stream = await streamNumber(0);
    ending.abort(new RvmError('CANCELLED', 'Enough.'));
    await assert.rejects(first, { code: 'CANCELLED' });
    stream.send(keyAt(0));
    await eventually(() => stream.closed && places.taken === 0, 'the end of the session');
    assert.equal(upstreams.count, 0);
  });

  it('are waited for by who closes all, also where their last reader has just left', async () => {
    const first = join(recorded());
    const stream = await streamNumber(0);
    const farewell = stream.closeSlowly();
    stream.send(keyAt(0));
    const { reader } = await first;
    void reader.close();
    let isClosed = false;
    const closing = upstreams.close().then(() => (isClosed = true));
    await endOfTurn();
    assert.equal(isClosed, false);
    farewell();
    await closing;
    assert.deepEqual([upstreams.count, places.taken], [0, 0]);
  });

  it('end with all that is closed', async () => {
    const first = join(recorded());
    const stream = await streamNumber(0);
    stream.send(keyAt(0));
    await first;
    await upstreams.close();
    assert.deepEqual([stream.closed, upstreams.count, places.taken], [true, 0, 0]);
  });

  const clocks: readonly (readonly [string, number | undefined, number, MomentClock])[] = [
    ['the time that was asked for, where the relay has no clock', undefined, ALARM, 'camera'],
    ["the relay's clock, where it tells when the pictures were taken", ALARM - 700, ALARM - 700, 'camera'],
    [
      'the time that was asked for, where the clock tells when they were sent',
      ALARM + 60_000,
      ALARM,
      'camera',
    ],
    ['the time that was asked for, where the clock is far off', ALARM - 86_400_000, ALARM, 'here'],
  ];
  for (const [what, clock, moment, whose] of clocks) {
    it(`give the first picture ${what}`, async () => {
      const first = join(recorded());
      const stream = await streamNumber(0);
      stream.clock = clock;
      stream.send(keyAt(0));
      const { momentOf, clockOf } = await first;
      assert.deepEqual([momentOf(0), clockOf(0)], [moment, whose]);
    });
  }

  const HERE = ALARM + 60_000;
  const cameras: readonly (readonly [string, number | undefined, number, MomentClock])[] = [
    ['of the camera, where that is right', HERE - 9000, HERE - 9000, 'camera'],
    ['of this machine, where the camera has none', undefined, HERE, 'here'],
    ['of this machine, where the camera is 11 s behind', HERE - 11_000, HERE, 'here'],
    ['of this machine, where the camera is an hour ahead', HERE + 3_600_000, HERE, 'here'],
    ['of this machine, where the camera is years behind', Date.UTC(2004, 0, 1), HERE, 'here'],
  ];
  for (const [what, clock, moment, whose] of cameras) {
    it(`date a live picture by the clock ${what}`, async () => {
      const first = join(LIVE);
      const stream = await streamNumber(0);
      stream.clock = clock;
      stream.send(keyAt(0));
      const { momentOf, clockOf } = await first;
      assert.deepEqual([momentOf(0), momentOf(2), clockOf(2)], [moment, moment + 2000, whose]);
    });
  }
});
