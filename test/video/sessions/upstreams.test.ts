import assert from 'node:assert/strict';
import type { RtspWanted } from '../../../lib/cloud/calls';
import { CancelToken } from '../../../lib/concurrency/signals';
import { RvmError } from '../../../lib/error';
import type { MediaFrame, VideoFrame } from '../../../lib/video/media';
import { type MomentClock, SharedStreams, type JoinOptions } from '../../../lib/video/sessions/shared-stream';
import { SessionSlots, type VideoSource } from '../../../lib/video/sessions/session-slots';
import { endOfTurn } from '../../support/time/event-loop';
import { eventually } from '../../support/time/patience';
import { grantingClient, keyAt, MadeStream, pictureAt } from '../../support/video/made-stream';

const ALARM = Date.UTC(2026, 2, 4, 5, 6, 7);
const CHOICE = { quality: 'high', whenOffline: 'fail' as const };

function recorded(time = ALARM, camera = 'Gate', quality = 'high'): RtspWanted {
  return { mode: 'recorded', camera, time, preRoll: 0, ...CHOICE, quality };
}

const LIVE: RtspWanted = { mode: 'live', camera: 'Gate', ...CHOICE };

/** How one joins, and the clock of the stream. */
type Begin = Partial<JoinOptions> & { clock?: number | undefined };

describe('RTSP sessions that several read', () => {
  let streams: MadeStream[];
  let upstreams: SharedStreams;
  let places: SessionSlots;
  let asked: RtspWanted[];
  let client: VideoSource['client'];
  let openedLive: boolean[];
  beforeEach(() => {
    streams = [];
    asked = [];
    client = grantingClient(asked);
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

  /** One that is the first to want this, which sends a key frame and these. */
  async function begun(wanted: RtspWanted, frames: readonly VideoFrame[] = [], more: Begin = {}) {
    const { clock, ...options } = more;
    const first = join(wanted, options);
    const stream = await streamNumber(streams.length);
    stream.clock = clock;
    stream.send(keyAt(0), ...frames);
    return { stream, ...(await first) };
  }

  async function timesOf(reader: AsyncIterable<MediaFrame>): Promise<number[]> {
    const times: number[] = [];
    for await (const { time } of reader) times.push(time);
    return times;
  }

  it('tell live video, whose end is none, from a recording', async () => {
    await begun(recorded());
    await begun(LIVE);
    assert.deepEqual(openedLive, [false, true]);
  });

  it('are one for two who want the same at the same time', async () => {
    const both = [join(recorded()), join(recorded())];
    (await streamNumber(0)).send(keyAt(0));
    await Promise.all(both);
    assert.equal(asked.length, 1);
  });

  const TWO_GROUPS = [pictureAt(0.5), keyAt(1), pictureAt(1.5)];
  for (const [title, first, second] of [
    ['are one for a second who wants what the first has just had', recorded(ALARM - 1000), recorded()],
    ['begin for a later viewer of live video with the newest key frame', LIVE, LIVE],
  ] as const)
    it(title, async () => {
      const { stream } = await begun(first, TWO_GROUPS);
      await eventually(() => stream.taken === 4, 'all frames');
      const { reader } = await join(second);
      stream.end();
      assert.deepEqual([asked.length, await timesOf(reader)], [1, [1, 1.5]]);
    });

  for (const [what, wanted] of [
    ['another camera', recorded(ALARM, 'Yard')],
    ['another time', recorded(ALARM - 3000)],
    ['another quality', recorded(ALARM, 'Gate', 'low')],
    ['live video', LIVE],
    ['a camera that is offline, too', { ...recorded(), whenOffline: 'try' }],
  ] as const)
    it(`are two where the second wants ${what}`, async () => {
      await begun(recorded());
      await begun(wanted);
      assert.equal(asked.length, 2);
    });

  it('are closed, and their place is free, when the last reader has left', async () => {
    const { stream, reader } = await begun(recorded());
    const other = await join(recorded());
    await reader.close();
    assert.equal(stream.closed, false);
    await other.reader.close();
    assert.deepEqual([stream.closed, upstreams.count, places.taken], [true, 0, 0]);
  });

  it('take nobody in, and keep their place, while they say good-bye to the relay', async () => {
    const { stream, reader } = await begun(LIVE);
    const farewell = stream.closeSlowly();
    const left = reader.close();
    await begun(LIVE);
    assert.deepEqual([asked.length, places.taken], [2, 2]);
    farewell();
    await left;
    assert.deepEqual([upstreams.count, places.taken], [1, 1]);
  });

  const large = { nals: [Buffer.alloc(1024 * 1024)] };
  const largeUpTo = (count: number): VideoFrame[] =>
    Array.from({ length: count }, (_, before) => pictureAt((before + 1) / 10, large));

  it('wait for a reader that is slow, so that nothing piles up', async () => {
    const { stream, reader } = await begun(recorded(), largeUpTo(20));
    await eventually(() => stream.taken >= 5, 'what there is room for');
    assert.ok(stream.taken < 10, `${stream.taken} frames were taken`);
    stream.end();
    assert.equal((await timesOf(reader)).length, 21);
  });

  it('leave pictures out for a viewer that is slow, up to the next key frame', async () => {
    const frames = [...largeUpTo(9), keyAt(1), pictureAt(1.1)];
    const { stream, reader } = await begun(LIVE, frames, { slow: 'pictures are left out' });
    stream.end();
    await eventually(() => stream.taken === 12, 'all frames');
    const times = await timesOf(reader);
    assert.deepEqual(times.slice(-2), [1, 1.1]);
    assert.ok(times.length < 12);
  });

  it('give a viewer that comes later all that was kept for it', async () => {
    const { stream, reader } = await begun(recorded(), largeUpTo(6));
    let seen = 0;
    for await (const frame of reader) if (frame.time > 0 && ++seen === 6) break;
    const { reader: late } = await join(recorded(), { slow: 'pictures are left out' });
    stream.end();
    assert.deepEqual([asked.length, await timesOf(late)], [1, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]]);
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
    const { stream, reader } = await begun(recorded());
    stream.end(new RvmError('VIDEO_FAILED', 'It broke off.'));
    await assert.rejects(timesOf(reader), { code: 'VIDEO_FAILED' });
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
    const { stream, reader } = await begun(recorded());
    const farewell = stream.closeSlowly();
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
    const { stream } = await begun(recorded());
    await upstreams.close();
    assert.deepEqual([stream.closed, upstreams.count, places.taken], [true, 0, 0]);
  });

  const [HERE, DAY] = [ALARM + 60_000, 86_400_000];
  const CLOCKS: [what: string, RtspWanted, clock: number | undefined, moment: number, MomentClock][] = [
    ['recorded one by the time asked for, where the relay has none', recorded(), undefined, ALARM, 'camera'],
    ['recorded one by that of the relay, of pictures', recorded(), ALARM - 700, ALARM - 700, 'camera'],
    ['recorded one by the time asked for, where that is of the sending', recorded(), HERE, ALARM, 'camera'],
    ['recorded one by the time asked for, where that is far off', recorded(), ALARM - DAY, ALARM, 'here'],
    ['live one by that of the camera, where it is right', LIVE, HERE - 9000, HERE - 9000, 'camera'],
    ['live one by that of this machine, where the camera has none', LIVE, undefined, HERE, 'here'],
    ['live one by that of this machine, where the camera is 11 s behind', LIVE, HERE - 11_000, HERE, 'here'],
    ['live one by that of this machine, where it is an hour ahead', LIVE, HERE + 3_600_000, HERE, 'here'],
    ['live one by that of this machine, where it is years behind', LIVE, Date.UTC(2004, 0, 1), HERE, 'here'],
  ];
  for (const [what, wanted, clock, moment, whose] of CLOCKS)
    it(`date a picture by a clock: a ${what}`, async () => {
      const { momentOf, clockOf } = await begun(wanted, [], { clock });
      assert.deepEqual([momentOf(0), momentOf(2), clockOf(2)], [moment, moment + 2000, whose]);
    });
});
