import assert from 'node:assert/strict';
import type { RtspWanted } from '../../../lib/cloud/calls';
import { RvmError, type RvmErrorCause, type RvmErrorCode } from '../../../lib/error';
import type { ClipSink } from '../../../lib/video/jobs/clip';
import {
  CloudVideo,
  type JobOptions,
  type PictureDecoder,
  type Progress,
} from '../../../lib/video/cloud-video';
import type { MediaFrame, VideoFrame } from '../../../lib/video/media';
import type { VideoSource } from '../../../lib/video/sessions/session-slots';
import { RecordingMeter } from '../../support/metrics/metrics';
import { eventually } from '../../support/time/patience';
import {
  grantingClient,
  keyAt,
  MAIN,
  MadeStream,
  pictureAt,
  SOUND,
  soundAt,
} from '../../support/video/made-stream';

const ALARM = Date.UTC(2026, 2, 4, 5, 6, 7);
const CHOICE = { quality: 'high', whenOffline: 'fail' as const };
const RECORDED = { mode: 'recorded' as const, camera: 'Gate', time: ALARM, preRoll: 0, ...CHOICE };
const LIVE: RtspWanted = { mode: 'live', camera: 'Gate', ...CHOICE };

/** Notes what it is asked for, and makes pictures of nothing. */
class NotingDecoder implements PictureDecoder {
  readonly asked: { frames: number; time: number }[] = [];
  isThere = true;

  demand(): Promise<void> {
    return this.isThere ? Promise.resolve() : Promise.reject(failure('DECODER_MISSING'));
  }

  picture(frames: readonly unknown[], time: number): ReturnType<PictureDecoder['picture']> {
    this.asked.push({ frames: frames.length, time });
    return Promise.resolve({ jpeg: Buffer.from('picture'), width: 320, height: 180 });
  }

  sheet(): ReturnType<PictureDecoder['sheet']> {
    return Promise.resolve({ jpeg: Buffer.from('sheet'), width: 640, height: 180 });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class NotingSink implements ClipSink {
  readonly frames: MediaFrame[] = [];
  room = Infinity;
  ended: ClipSink['ended'];

  get hasSound(): boolean {
    return this.frames.some(({ kind }) => kind === 'audio');
  }

  add(frame: MediaFrame): Promise<boolean> {
    if (this.frames.length >= this.room) this.ended = 'too large';
    if (this.ended !== undefined) return Promise.resolve(false);
    this.frames.push(frame);
    return Promise.resolve(true);
  }
}

/** In the order of decoding: B-frames, and a key frame that is no IDR picture amidst them. */
const OPEN_GROUPS = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8, 12].map((time) =>
  pictureAt(time, { format: MAIN, key: time === 0 || time === 6, open: time === 6 }),
);

type Step = MadeStream | RvmError;

function failure(code: RvmErrorCode, cause: RvmErrorCause = {}): RvmError {
  return new RvmError(code, `It failed with ${code}.`, cause);
}

/**
 * What a session sends, by time: `0K 0.5 1s` are a key frame, another picture and sound. Behind that it waits, or ends by itself
 * (`end`), or fails with a code.
 */
function session(text: string, options: Partial<VideoFrame> = {}): MadeStream {
  const stream = new MadeStream();
  for (const word of text.split(' ')) {
    if (word === 'end') stream.end();
    else if (word === 'VIDEO_FAILED' || word === 'TIMEOUT') stream.end(failure(word));
    else if (word.endsWith('s')) stream.send(soundAt(Number.parseFloat(word)));
    else stream.send(pictureAt(Number.parseFloat(word), { key: word.endsWith('K'), ...options }));
  }
  return stream;
}

function streamOf(...frames: MediaFrame[]): MadeStream {
  const stream = new MadeStream();
  stream.send(...frames);
  return stream;
}

const timesOf = (frames: readonly MediaFrame[]): number[] => frames.map(({ time }) => time);

describe('a video job', () => {
  let decoder: NotingDecoder;
  let video: CloudVideo;
  /** What the service and the relay do, one after the other; the last of them from then on. */
  let steps: Step[];
  let asked: RtspWanted[];
  let told: Progress[];
  let controller: AbortController;
  let source: VideoSource;
  /** Milliseconds that a slow relay takes, beside those of the clock. */
  let slowness: number;
  /** Wall clock. */
  let now: number;

  beforeEach(() => {
    slowness = 0;
    decoder = new NotingDecoder();
    now = ALARM + 60_000;
    steps = [];
    asked = [];
    told = [];
    controller = new AbortController();
    const open = (): Promise<MadeStream> => {
      const step = steps.length > 1 ? steps.shift() : steps[0];
      assert.ok(step);
      return step instanceof RvmError ? Promise.reject(step) : Promise.resolve(step);
    };
    const monotonic = (): number => performance.now() + slowness;
    video = new CloudVideo({ sessions: 4, open, decoder, monotonic, now: () => now });
    source = { client: grantingClient(asked), wanted: RECORDED };
  });
  afterEach(() => video.close());

  const options = (changed: Partial<JobOptions> = {}): JobOptions => ({
    signal: controller.signal,
    deadlineMs: 20_000,
    waitForVideoMs: 10_000,
    onProgress: (progress) => told.push(progress),
    ...changed,
  });

  const pictures = (offsets = [0], changed: Partial<JobOptions> = {}): ReturnType<CloudVideo['pictures']> =>
    video.pictures(source, { offsets }, options(changed));

  const clip = (sink: ClipSink, seconds: number, changed: Partial<JobOptions> = {}) =>
    video.clip(source, { until: () => ALARM + seconds * 1000 }, sink, options(changed));

  /** Of the recordings that were asked for. */
  const preRolls = (): unknown[] => asked.map((wanted) => wanted.mode === 'recorded' && wanted.preRoll);

  describe('for pictures', () => {
    it('gives them in the order in which they were asked for, each with its time', async () => {
      steps = [session('0K 1K 2K 3K 4K')];
      assert.partialDeepStrictEqual(await pictures([3, 0]), [
        { offset: 3, time: '2026-03-04T05:06:10.000Z' },
        { offset: 0, time: '2026-03-04T05:06:07.000Z' },
      ]);
    });

    it('opens one session for those that are near each other, from the earliest on', async () => {
      steps = [session('0K 1K 2K 3K 4K 5K 6K 7K')];
      await pictures([0, -3, 3]);
      assert.deepEqual(preRolls(), [3]);
      assert.equal(decoder.asked.map(({ time }) => time).join(), '0,3,6');
    });

    it('opens a session each for those that are far apart, rather than wait', async () => {
      steps = [session('0K'), session('0K')];
      await pictures([0, 60]);
      assert.deepEqual(preRolls(), [0, -60]);
    });

    it('hands the decoder the pictures from the key frame before on', async () => {
      steps = [session('0K 0.5 1K 1.5 2')];
      await pictures([0, 1.5]);
      assert.deepEqual(decoder.asked, [
        { frames: 1, time: 0 },
        { frames: 2, time: 1.5 },
      ]);
    });

    it('counts a job from its begin to its end, and the time to its first picture', async () => {
      const meter = new RecordingMeter();
      steps = [session('0K')];
      await pictures().finally(() => meter.end());
      assert.deepEqual([meter.told('videoBegan'), meter.told('videoEnded')], [[[]], [[undefined]]]);
      assert.equal(meter.told('firstFrame').length, 1);
    });

    it('counts a job that fails by its code, without a first picture', async () => {
      const meter = new RecordingMeter();
      steps = [failure('LINK_NOT_OFFERED')];
      const counted = pictures().finally(() => meter.end());
      await assert.rejects(counted, { code: 'LINK_NOT_OFFERED' });
      assert.deepEqual(meter.told('videoEnded'), [['LINK_NOT_OFFERED']]);
      assert.equal(meter.told('firstFrame').length, 0);
    });

    it('closes the session when it has what it needs', async () => {
      const stream = session('0K');
      steps = [stream];
      await pictures();
      await eventually(() => stream.closed && video.sessions === 0, 'the end of the session');
    });

    const want = (wanted: RtspWanted): unknown => (source = { ...source, wanted });
    const BAD_INPUT = (message: RegExp) => ({ code: 'BAD_INPUT', message });
    for (const [what, set, offsets, error] of [
      ['where there is no decoder', () => (decoder.isThere = false), [0], { code: 'DECODER_MISSING' }],
      ['for a time in the future', () => want({ ...RECORDED, time: now + 60_000 }), [0], BAD_INPUT(/future/)],
      ['for the past of live video', () => want(LIVE), [-1], BAD_INPUT(/no past/)],
    ] as const)
      it(`opens nothing ${what}`, async () => {
        set();
        await assert.rejects(pictures([...offsets]), error);
        assert.equal(asked.length, 0);
      });

    it('takes the last picture where the recording ends a moment before the wanted time', async () => {
      steps = [session('0K 0.5 end')];
      const [, last] = await pictures([0, 1.2]);
      assert.deepEqual([last?.offset, last?.time, asked.length], [1.2, '2026-03-04T05:06:07.500Z', 1]);
    });

    it('asks again where the recording ends short of the wanted time', async () => {
      steps = [session('0K 0.5 end'), session('0K 1K 2K 3K')];
      const [, later] = await pictures([0, 3]);
      assert.deepEqual([later?.offset, asked.length], [3, 2]);
    });
  });

  it('for pictures fails with TIMEOUT where the relay sends next to nothing for ever', async () => {
    steps = [streamOf(keyAt(0), ...Array.from({ length: 50 }, (_, count) => pictureAt(count / 1000)))];
    const onProgress = (): void => void (slowness += 9000);
    await assert.rejects(pictures([0, 5], { onProgress }), { code: 'TIMEOUT' });
  });

  describe('that has begun', () => {
    it('does not wait for pictures that an old recording does not have', async () => {
      now = ALARM + 86_400_000;
      steps = [session('0K 0.5 end')];
      await assert.rejects(pictures([0, 3]), { code: 'VIDEO_NOT_YET', message: /earlier/ });
      assert.equal(asked.length, 1);
    });

    for (const [what, age, then, requests] of [
      ['the rest of an old recording', 86_400_000, [], 1],
      ['a service that has gone', 60_000, [failure('NETWORK')], 2],
      ['a recording that stays short', 60_000, [failure('VIDEO_FAILED', { status: 404 })], 2],
    ] as const)
      it(`does not wait for ever for ${what}: gives what is there`, async () => {
        now = ALARM + age;
        steps = [session('0K 1 end'), ...then];
        const { reason } = await clip(new NotingSink(), 10, { waitForVideoMs: 1500 });
        assert.deepEqual([reason, asked.length], ['recording ends', requests]);
      });

    it('waits no longer for the next session than for a recording', async () => {
      steps = [session('0K'), failure('NETWORK')];
      await assert.rejects(pictures([0, 60], { waitForVideoMs: 500 }), { code: 'NETWORK' });
    });

    it('is cancelled while it waits for the rest', async () => {
      steps = [session('0K 1 end')];
      const recording = clip(new NotingSink(), 10);
      await eventually(() => told.some(({ kind }) => kind === 'waiting'), 'the pause');
      controller.abort();
      await assert.rejects(recording, { code: 'CANCELLED' });
    });
  });

  describe('that has no video yet', () => {
    const said = (status: number, serverCode: string): RvmError =>
      failure('HTTP_ERROR', { status, serverCode });
    for (const [what, step] of [
      ['the service says EdgeOfStream', () => said(500, 'EdgeOfStream')],
      ['the service says NoAvailableStreams', () => said(404, 'NoAvailableStreams')],
      ['the relay says 404', () => failure('VIDEO_FAILED', { status: 404 })],
      ['the relay says 457', () => failure('VIDEO_FAILED', { status: 457 })],
      ['the relay ends at once', () => session('end')],
    ] as const) {
      it(`waits and asks again where ${what}`, async () => {
        steps = [step(), session('0K')];
        await pictures();
        assert.equal(asked.length, 2);
        assert.ok(told.some(({ kind }) => kind === 'waiting'));
      });

      it(`gives up with VIDEO_NOT_YET at the end of the waiting where ${what}`, async () => {
        steps = [step()];
        await assert.rejects(pictures([0], { waitForVideoMs: 500 }), { code: 'VIDEO_NOT_YET' });
      });
    }
  });

  describe('that is live', () => {
    const open = (): Promise<unknown> => video.open(source, 60, options());
    beforeEach(() => (source = { ...source, wanted: LIVE }));

    for (const [what, job] of [
      ['a picture', () => pictures()],
      ['a clip', () => clip(new NotingSink(), 1)],
      ['a view', open],
    ] as const)
      for (const status of [404, 457])
        it(`fails at once where the relay does not know the camera (${status}): ${what}`, async () => {
          steps = [failure('VIDEO_FAILED', { status })];
          await assert.rejects(job(), { code: 'VIDEO_FAILED' });
          assert.deepEqual([asked.length, told], [1, [{ kind: 'opening' }]]);
        });

    it('fails at once where the service has no stream of the camera', async () => {
      steps = [failure('HTTP_ERROR', { status: 500, serverCode: 'NoAvailableStreams' })];
      await assert.rejects(open(), { code: 'HTTP_ERROR' });
      assert.equal(asked.length, 1);
    });

    it('is tried again where the relay is busy', async () => {
      steps = [failure('VIDEO_FAILED', { status: 503 }), session('0K')];
      await open();
      assert.equal(asked.length, 2);
    });
  });

  describe('that fails in passing', () => {
    for (const [what, step] of [
      ['the relay cannot be reached', () => failure('NETWORK')],
      ['the relay is silent', () => failure('TIMEOUT')],
      ['the relay is busy', () => failure('VIDEO_FAILED', { status: 503 })],
      ['the relay has too little bandwidth', () => failure('VIDEO_FAILED', { status: 453 })],
      ['the relay breaks off before the first picture', () => session('VIDEO_FAILED')],
    ] as const)
      it(`is tried again where ${what}`, async () => {
        steps = [step(), session('0K')];
        await pictures();
        assert.equal(asked.length, 2);
      });

    it('ends at the deadline with the last error', async () => {
      steps = [failure('NETWORK')];
      await assert.rejects(pictures([0], { deadlineMs: 300 }), { code: 'NETWORK' });
    });
  });

  describe('that only a person can cure', () => {
    for (const code of ['VIDEO_FAILED', 'UNTRUSTED_LINK', 'TLS', 'DEVICE_NOT_FOUND'] as const)
      it(`fails at once with ${code}`, async () => {
        steps = [failure(code, code === 'VIDEO_FAILED' ? { status: 403 } : {})];
        await assert.rejects(pictures(), { code });
        assert.equal(asked.length, 1);
      });
  });

  describe('for somebody who looks on', () => {
    const AHEAD = session('0K 0.5s 5s 1 2K 3');
    for (const [what, stream, end, times] of [
      ['ends at the wanted time, and is not ended by sound that is ahead', AHEAD, 2, [0, 0.5, 1]],
      [
        'has what is shown before its end and decoded behind it',
        streamOf(...OPEN_GROUPS),
        6,
        [0, 3, 1, 2, 6, 4, 5],
      ],
    ] as const)
      it(what, async () => {
        steps = [stream];
        const seen: number[] = [];
        for await (const { time } of await video.open(source, end, options())) seen.push(time);
        assert.deepEqual(seen, times);
        await eventually(() => video.sessions === 0, 'the end of the session');
      });
  });

  describe('for a clip', () => {
    const inOrder = (text: string) => (): Step[] => text.split(' | ').map((each) => session(each));
    const reordered = (text: string) => (): Step[] => [session(text, { format: MAIN })];
    const openGroups = (): Step[] => [streamOf(...OPEN_GROUPS)];
    const named = (text: string, name: string): MadeStream => session(text, { nals: [Buffer.from(name)] });
    const anew = (): Step[] => [named('0K 1 end', 'first'), named('0K 1K 2 3K', 'encoded anew')];
    const CLIPS: [title: string, end: number, steps: () => Step[], times: number[], reason?: string][] = [
      ['ends at the wanted time', 2, inOrder('0K 1 2K 3'), [0, 1]],
      ['is not ended by sound that is ahead of the pictures', 2, inOrder('0K 0.5s 5s 1 2K'), [0, 0.5, 1]],
      ['has all before a key frame of an open group', 6, openGroups, [0, 3, 1, 2, 6, 4, 5]],
      ['has all right before such a one', 5.5, openGroups, [0, 3, 1, 2, 6, 4, 5]],
      ['has all before a picture that others are shown before', 3, openGroups, [0, 3, 1, 2]],
      ['has all shown before an end between pictures', 3.5, openGroups, [0, 3, 1, 2]],
      ['is whole where the recording ends a little too soon', 2, inOrder('0K 1 1.8 end'), [0, 1, 1.8]],
      ['is whole where the relay ends behind a picture beyond its end', 6, reordered('0K 8 end'), [0]],
      ['is whole where the relay breaks off there', 6, reordered('0K 8 VIDEO_FAILED'), [0]],
      ['is whole where the relay falls silent there', 6, reordered('0K 8 TIMEOUT'), [0]],
      ['is what is there where the relay breaks off', 10, inOrder('0K 1 VIDEO_FAILED'), [0, 1], 'broken off'],
      ['is what is there where the relay falls silent', 10, inOrder('0K 1 TIMEOUT'), [0, 1], 'stalled'],
      ['goes on with the next key frame where the same was encoded anew', 4, anew, [0, 1, 2, 3]],
    ];
    for (const [title, end, made, times, reason] of CLIPS)
      it(title, async () => {
        const sink = new NotingSink();
        steps = made();
        const { from, to, reason: told } = await clip(sink, end);
        assert.deepEqual([timesOf(sink.frames), told], [times, reason]);
        const shown = sink.frames.filter(({ kind }) => kind === 'video').map(({ time }) => time);
        assert.deepEqual([from - ALARM, to - ALARM], [0, Math.max(...shown) * 1000]);
        if (title.includes('anew')) assert.deepEqual(preRolls(), [0, -1]);
      });

    it('goes on where its end has moved while a picture beyond it was held back', async () => {
      const sink = new NotingSink();
      let end = ALARM + 2000;
      const stream = session('0K 3', { format: MAIN });
      steps = [stream];
      const recording = video.clip(source, { until: () => end }, sink, options());
      await eventually(() => stream.taken === 2 && sink.frames.length === 1, 'what there is');
      end = ALARM + 4500;
      stream.send(...[4, 5, 6].map((time) => pictureAt(time, { format: MAIN })));
      await recording;
      assert.deepEqual(timesOf(sink.frames), [0, 3, 4]);
    });

    it('asks again from where the recording stopped, and goes on behind the same picture', async () => {
      const named = (time: number, key = false): VideoFrame =>
        pictureAt(time, { key, nals: [Buffer.from(`picture ${time}`)] });
      const group = [named(0, true), named(1), named(2)];
      const sink = new NotingSink();
      const first = streamOf(...group);
      first.end();
      steps = [first, streamOf(...group, named(3), named(4, true))];
      const { to, reason } = await clip(sink, 4);
      assert.deepEqual([to - ALARM, reason, timesOf(sink.frames)], [3000, undefined, [0, 1, 2, 3]]);
    });

    it('names what it is without: codecs that are never in it, and sound that was announced and did not come', async () => {
      for (const [frames, leftOut] of [
        [[soundAt(0.5)], ['PCMA']],
        [[], ['PCMA', 'AAC']],
      ] as const) {
        const stream = streamOf(keyAt(0), ...frames, pictureAt(1), keyAt(2));
        [stream.audio, stream.leftOut] = [SOUND, ['PCMA']];
        steps = [stream];
        assert.deepEqual((await clip(new NotingSink(), 2)).leftOut, leftOut);
      }
    });

    it('tells how far it is', async () => {
      steps = [session('0K 1 2K')];
      await clip(new NotingSink(), 2);
      assert.deepEqual(told.at(-1), { kind: 'reading', seconds: 1, of: 2 });
    });

    it('fails with what keeps it from being written', async () => {
      const sink = new NotingSink();
      sink.add = () => Promise.reject(failure('STORE_FAILED'));
      steps = [session('0K 1')];
      await assert.rejects(clip(sink, 10), { code: 'STORE_FAILED' });
    });

    it('says so where it may not become longer', async () => {
      const sink = new NotingSink();
      sink.room = 1;
      steps = [session('0K 1 2')];
      const { reason } = await clip(sink, 10);
      assert.equal(reason, 'too large');
    });

    it('gives what is there where the relay sends next to nothing for ever', async () => {
      const sink = new NotingSink();
      steps = [streamOf(...Array.from({ length: 50 }, (_, count) => keyAt(count / 1000)))];
      const onProgress = (): void => void (slowness += 9000);
      const { reason } = await clip(sink, 10, { onProgress });
      assert.equal(reason, 'stalled');
      assert.ok(sink.frames.length < 15);
    });

    for (const [who, end] of [
      ['its node', () => controller.abort()],
      ['its cloud', () => video.close().then(() => assert.equal(video.sessions, 0))],
    ] as const)
      it(`ends with CANCELLED where ${who} is closed`, async () => {
        const stream = session('0K 1');
        steps = [stream];
        const recording = assert.rejects(clip(new NotingSink(), 10), { code: 'CANCELLED' });
        await eventually(() => told.some(({ kind }) => kind === 'reading'), 'the first picture');
        await end();
        await recording;
        await eventually(() => stream.closed && video.sessions === 0, 'the end of the session');
      });
  });
});
