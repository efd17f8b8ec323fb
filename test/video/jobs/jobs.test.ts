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
import type { AudioFormat, AudioFrame, MediaFrame, VideoFrame } from '../../../lib/video/media';
import type { VideoSource } from '../../../lib/video/sessions/session-slots';
import { RecordingMeter } from '../../support/metrics/metrics';
import { eventually } from '../../support/time/patience';
import { keyAt, MAIN, MadeStream, pictureAt } from '../../support/video/made-stream';

const ALARM = Date.UTC(2026, 2, 4, 5, 6, 7);
const CHOICE = { quality: 'high', whenOffline: 'fail' as const };
const RECORDED = { mode: 'recorded' as const, camera: 'Gate', time: ALARM, preRoll: 0, ...CHOICE };
const WANTED: RtspWanted = RECORDED;
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

function streamOf(...frames: MediaFrame[]): MadeStream {
  const stream = new MadeStream();
  stream.send(...frames);
  return stream;
}

const SOUND: AudioFormat = {
  codec: 'aac',
  description: Buffer.from([0x12, 0x10]),
  sampleRate: 44_100,
  channels: 2,
  codecString: 'mp4a.40.2',
};

function soundAt(time: number): AudioFrame {
  return { kind: 'audio', format: SOUND, data: Buffer.from([1]), time };
}

/** Ends by itself, with an error where one is given. */
function ending(stream: MadeStream, error?: Error): MadeStream {
  stream.end(error);
  return stream;
}

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
    const steady = (): number => performance.now() + slowness;
    video = new CloudVideo({ sessions: 4, open, decoder, steady, now: () => now });
    const openRtsp: VideoSource['client']['openRtsp'] = (wanted) => {
      asked.push(wanted);
      const device = { id: 'gate', name: 'Gate', status: 'online' };
      const relay = { scheme: 'rtsp', host: 'relay.invalid', port: 554 };
      const ids = { cameraId: 'gate', cameraRemoteId: 'g' };
      const { mode, quality } = wanted;
      return Promise.resolve({ url: 'rtsp://x', mode, quality, ...ids, relay, device, requests: 1, ms: 1 });
    };
    source = { client: { openRtsp }, wanted: WANTED };
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

  const clip = (
    sink: ClipSink,
    seconds: number,
    changed: Partial<JobOptions> = {},
  ): ReturnType<CloudVideo['clip']> =>
    video.clip(source, { until: () => ALARM + seconds * 1000 }, sink, options(changed));

  describe('for pictures', () => {
    it('gives them in the order in which they were asked for, each with its time', async () => {
      steps = [streamOf(...[0, 1, 2, 3, 4].map((time) => keyAt(time)))];
      const [late, early] = await pictures([3, 0]);
      assert.deepEqual(
        [late?.offset, late?.time, early?.offset, early?.time],
        [3, '2026-03-04T05:06:10.000Z', 0, '2026-03-04T05:06:07.000Z'],
      );
    });

    it('opens one session for those that are near each other, from the earliest on', async () => {
      steps = [streamOf(...Array.from({ length: 8 }, (_, time) => keyAt(time)))];
      await pictures([0, -3, 3]);
      assert.deepEqual(
        asked.map((wanted) => wanted.mode === 'recorded' && wanted.preRoll),
        [3],
      );
      assert.deepEqual(
        decoder.asked.map(({ time }) => time),
        [0, 3, 6],
      );
    });

    it('opens a session each for those that are far apart, rather than wait', async () => {
      steps = [streamOf(keyAt(0)), streamOf(keyAt(0))];
      await pictures([0, 60]);
      assert.deepEqual(
        asked.map((wanted) => wanted.mode === 'recorded' && wanted.preRoll),
        [0, -60],
      );
    });

    it('hands the decoder the pictures from the key frame before on', async () => {
      steps = [streamOf(keyAt(0), pictureAt(0.5), keyAt(1), pictureAt(1.5), pictureAt(2))];
      await pictures([0, 1.5]);
      assert.deepEqual(decoder.asked, [
        { frames: 1, time: 0 },
        { frames: 2, time: 1.5 },
      ]);
    });

    it('counts a job from its begin to its end, and the time to its first picture', async () => {
      const meter = new RecordingMeter();
      steps = [streamOf(keyAt(0))];
      await pictures().finally(() => meter.end());
      assert.deepEqual([meter.told('videoBegan'), meter.told('videoEnded')], [[[]], [[undefined]]]);
      assert.equal(meter.told('firstFrame').length, 1);
    });

    it('counts a job that fails by its code, without a first picture', async () => {
      const meter = new RecordingMeter();
      steps = [failure('LINK_NOT_OFFERED')];
      await assert.rejects(
        pictures().finally(() => meter.end()),
        { code: 'LINK_NOT_OFFERED' },
      );
      assert.deepEqual(meter.told('videoEnded'), [['LINK_NOT_OFFERED']]);
      assert.equal(meter.told('firstFrame').length, 0);
    });

    it('closes the session when it has what it needs', async () => {
      const stream = streamOf(keyAt(0));
      steps = [stream];
      await pictures();
      await eventually(() => stream.closed && video.sessions === 0, 'the end of the session');
    });

    it('opens nothing where there is no decoder', async () => {
      decoder.isThere = false;
      await assert.rejects(pictures(), { code: 'DECODER_MISSING' });
      assert.equal(asked.length, 0);
    });

    it('opens nothing for a time in the future', async () => {
      source = { ...source, wanted: { ...RECORDED, time: now + 60_000 } };
      await assert.rejects(pictures(), { code: 'BAD_INPUT', message: /future/ });
      assert.equal(asked.length, 0);
    });

    it('opens nothing for the past of live video', async () => {
      source = { ...source, wanted: LIVE };
      await assert.rejects(pictures([-1]), { code: 'BAD_INPUT', message: /no past/ });
      assert.equal(asked.length, 0);
    });

    it('takes the last picture where the recording ends a moment before the wanted time', async () => {
      steps = [ending(streamOf(keyAt(0), pictureAt(0.5)))];
      const [, last] = await pictures([0, 1.2]);
      assert.deepEqual([last?.offset, last?.time, asked.length], [1.2, '2026-03-04T05:06:07.500Z', 1]);
    });

    it('asks again where the recording ends short of the wanted time', async () => {
      steps = [
        ending(streamOf(keyAt(0), pictureAt(0.5))),
        streamOf(...[0, 1, 2, 3].map((time) => keyAt(time))),
      ];
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
      steps = [ending(streamOf(keyAt(0), pictureAt(0.5)))];
      await assert.rejects(pictures([0, 3]), { code: 'VIDEO_NOT_YET', message: /earlier/ });
      assert.equal(asked.length, 1);
    });

    it('does not wait for the rest of an old recording', async () => {
      now = ALARM + 86_400_000;
      steps = [ending(streamOf(keyAt(0), pictureAt(1)))];
      const { reason } = await clip(new NotingSink(), 10);
      assert.deepEqual([reason, asked.length], ['recording ends', 1]);
    });

    it('does not wait for ever for a service that has gone', async () => {
      steps = [ending(streamOf(keyAt(0), pictureAt(1))), failure('NETWORK')];
      const { reason } = await clip(new NotingSink(), 10, { waitForVideoMs: 1500 });
      assert.deepEqual([reason, asked.length], ['recording ends', 2]);
    });

    it('waits no longer for the next session than for a recording', async () => {
      steps = [streamOf(keyAt(0)), failure('NETWORK')];
      await assert.rejects(pictures([0, 60], { waitForVideoMs: 500 }), { code: 'NETWORK' });
    });

    it('is cancelled while it waits for the rest', async () => {
      steps = [ending(streamOf(keyAt(0), pictureAt(1)))];
      const recording = clip(new NotingSink(), 10);
      await eventually(() => told.some(({ kind }) => kind === 'waiting'), 'the pause');
      controller.abort();
      await assert.rejects(recording, { code: 'CANCELLED' });
    });
  });

  describe('that has no video yet', () => {
    const empty = (): MadeStream => ending(new MadeStream());
    const kinds: readonly (readonly [string, () => Step])[] = [
      [
        'the service says EdgeOfStream',
        () => failure('HTTP_ERROR', { status: 500, serverCode: 'EdgeOfStream' }),
      ],
      [
        'the service says NoAvailableStreams',
        () => failure('HTTP_ERROR', { status: 404, serverCode: 'NoAvailableStreams' }),
      ],
      ['the relay says 404', () => failure('VIDEO_FAILED', { status: 404 })],
      ['the relay says 457', () => failure('VIDEO_FAILED', { status: 457 })],
      ['the relay ends at once', empty],
    ];
    for (const [what, step] of kinds) {
      it(`waits and asks again where ${what}`, async () => {
        steps = [step(), streamOf(keyAt(0))];
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
    const live: Readonly<Record<string, () => Promise<unknown>>> = {
      'a picture': () => pictures(),
      'a clip': () => clip(new NotingSink(), 1),
      'a view': open,
    };
    beforeEach(() => (source = { ...source, wanted: LIVE }));

    for (const [what, job] of Object.entries(live)) {
      for (const status of [404, 457]) {
        it(`fails at once where the relay does not know the camera (${status}): ${what}`, async () => {
          steps = [failure('VIDEO_FAILED', { status })];
          await assert.rejects(job(), { code: 'VIDEO_FAILED' });
          assert.deepEqual([asked.length, told], [1, [{ kind: 'opening' }]]);
        });
      }
    }

    it('fails at once where the service has no stream of the camera', async () => {
      steps = [failure('HTTP_ERROR', { status: 500, serverCode: 'NoAvailableStreams' })];
      await assert.rejects(open(), { code: 'HTTP_ERROR' });
      assert.equal(asked.length, 1);
    });

    it('is tried again where the relay is busy', async () => {
      steps = [failure('VIDEO_FAILED', { status: 503 }), streamOf(keyAt(0))];
      await open();
      assert.equal(asked.length, 2);
    });
  });

  describe('that fails in passing', () => {
    const kinds: readonly (readonly [string, () => Step])[] = [
      ['the relay cannot be reached', () => failure('NETWORK')],
      ['the relay is silent', () => failure('TIMEOUT')],
      ['the relay is busy', () => failure('VIDEO_FAILED', { status: 503 })],
      ['the relay has too little bandwidth', () => failure('VIDEO_FAILED', { status: 453 })],
      [
        'the relay breaks off before the first picture',
        () => ending(new MadeStream(), failure('VIDEO_FAILED')),
      ],
    ];
    for (const [what, step] of kinds) {
      it(`is tried again where ${what}`, async () => {
        steps = [step(), streamOf(keyAt(0))];
        await pictures();
        assert.equal(asked.length, 2);
      });
    }

    it('ends at the deadline with the last error', async () => {
      steps = [failure('NETWORK')];
      await assert.rejects(pictures([0], { deadlineMs: 300 }), { code: 'NETWORK' });
    });
  });

  describe('that only a person can cure', () => {
    const kinds: readonly (readonly [RvmErrorCode, RvmErrorCause])[] = [
      ['VIDEO_FAILED', { status: 403 }],
      ['UNTRUSTED_LINK', {}],
      ['TLS', {}],
      ['DEVICE_NOT_FOUND', {}],
    ];
    for (const [code, cause] of kinds) {
      it(`fails at once with ${code}`, async () => {
        steps = [failure(code, cause)];
        await assert.rejects(pictures(), { code });
        assert.equal(asked.length, 1);
      });
    }
  });

  describe('for somebody who looks on', () => {
    it('ends at the wanted time, and is not ended by sound that is ahead', async () => {
      const frames = [keyAt(0), soundAt(0.5), soundAt(5), pictureAt(1), keyAt(2), pictureAt(3)];
      steps = [streamOf(...frames)];
      const stream = await video.open(source, 2, options());
      const times: number[] = [];
      for await (const { time } of stream) times.push(time);
      assert.deepEqual(times, [0, 0.5, 1]);
      await eventually(() => video.sessions === 0, 'the end of the session');
    });

    it('has the pictures that are shown before its end and decoded behind a later one', async () => {
      steps = [streamOf(...OPEN_GROUPS)];
      const stream = await video.open(source, 6, options());
      const times: number[] = [];
      for await (const { time } of stream) times.push(time);
      assert.deepEqual(times, [0, 3, 1, 2, 6, 4, 5]);
    });
  });

  describe('for a clip', () => {
    for (const [what, seconds, times] of [
      ['at a key frame of an open group', 6, [0, 3, 1, 2, 6, 4, 5]],
      ['right before one', 5.5, [0, 3, 1, 2, 6, 4, 5]],
      ['at a picture that others are shown before', 3, [0, 3, 1, 2]],
      ['behind all that is shown before a picture', 3.5, [0, 3, 1, 2]],
    ] as const)
      it(`has the pictures shown before its end, where that is ${what}`, async () => {
        const sink = new NotingSink();
        steps = [streamOf(...OPEN_GROUPS)];
        const { reason } = await clip(sink, seconds);
        assert.deepEqual([sink.frames.map(({ time }) => time), reason], [times, undefined]);
      });

    it('is whole, too, where the relay breaks off behind a picture beyond its end', async () => {
      for (const end of [undefined, failure('VIDEO_FAILED'), failure('TIMEOUT')]) {
        const sink = new NotingSink();
        steps = [ending(streamOf(keyAt(0, { format: MAIN }), pictureAt(8, { format: MAIN })), end)];
        const { reason } = await clip(sink, 6);
        assert.deepEqual([sink.frames.length, reason], [1, undefined]);
      }
    });

    it('goes on where its end has moved while a picture beyond it was held back', async () => {
      const sink = new NotingSink();
      let end = ALARM + 2000;
      const stream = streamOf(keyAt(0, { format: MAIN }), pictureAt(3, { format: MAIN }));
      steps = [stream];
      const recording = video.clip(source, { until: () => end }, sink, options());
      await eventually(() => stream.taken === 2 && sink.frames.length === 1, 'what there is');
      end = ALARM + 4500;
      stream.send(...[4, 5, 6].map((time) => pictureAt(time, { format: MAIN })));
      await recording;
      assert.deepEqual(
        sink.frames.map(({ time }) => time),
        [0, 3, 4],
      );
    });

    it('ends it at the wanted time', async () => {
      const sink = new NotingSink();
      steps = [streamOf(keyAt(0), pictureAt(1), keyAt(2), pictureAt(3))];
      const { from, to, reason } = await clip(sink, 2);
      assert.deepEqual([from - ALARM, to - ALARM, reason], [0, 1000, undefined]);
      assert.deepEqual(
        sink.frames.map(({ time }) => time),
        [0, 1],
      );
    });

    it('is not ended by sound that is ahead of the pictures', async () => {
      const sink = new NotingSink();
      steps = [streamOf(keyAt(0), soundAt(0.5), soundAt(5), pictureAt(1), keyAt(2))];
      const { reason } = await clip(sink, 2);
      assert.deepEqual([reason, sink.frames.map(({ time }) => time)], [undefined, [0, 0.5, 1]]);
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
      steps = [streamOf(keyAt(0), pictureAt(1), keyAt(2))];
      await clip(new NotingSink(), 2);
      assert.deepEqual(told.at(-1), { kind: 'reading', seconds: 1, of: 2 });
    });

    it('gives what is there where the relay breaks off', async () => {
      const sink = new NotingSink();
      steps = [ending(streamOf(keyAt(0), pictureAt(1)), failure('VIDEO_FAILED'))];
      const { reason } = await clip(sink, 10);
      assert.deepEqual([reason, sink.frames.length], ['broken off', 2]);
    });

    it('gives what is there where the relay falls silent', async () => {
      steps = [ending(streamOf(keyAt(0), pictureAt(1)), failure('TIMEOUT'))];
      const { reason } = await clip(new NotingSink(), 10);
      assert.equal(reason, 'stalled');
    });

    it('fails with what keeps it from being written', async () => {
      const sink = new NotingSink();
      sink.add = () => Promise.reject(failure('STORE_FAILED'));
      steps = [streamOf(keyAt(0), pictureAt(1))];
      await assert.rejects(clip(sink, 10), { code: 'STORE_FAILED' });
    });

    it('says so where it may not become longer', async () => {
      const sink = new NotingSink();
      sink.room = 1;
      steps = [streamOf(keyAt(0), pictureAt(1), pictureAt(2))];
      const { reason } = await clip(sink, 10);
      assert.equal(reason, 'too large');
    });

    it('asks again from where the recording stopped, and goes on behind the same picture', async () => {
      const nalsOf = (name: string): Partial<VideoFrame> => ({ nals: [Buffer.from(name)] });
      const group = [keyAt(0, nalsOf('a')), pictureAt(1, nalsOf('b')), pictureAt(2, nalsOf('c'))];
      const rest = [pictureAt(3, nalsOf('d')), keyAt(4, nalsOf('e'))];
      const sink = new NotingSink();
      steps = [ending(streamOf(...group)), streamOf(...group, ...rest)];
      const { to, reason } = await clip(sink, 4);
      assert.deepEqual([to - ALARM, reason], [3000, undefined]);
      assert.deepEqual(
        sink.frames.map(({ time }) => time),
        [0, 1, 2, 3],
      );
    });

    it('goes on with the next key frame where the same was encoded anew', async () => {
      const sink = new NotingSink();
      const other = { nals: [Buffer.from('encoded anew')] };
      steps = [
        ending(streamOf(keyAt(0), pictureAt(1))),
        streamOf(keyAt(0, other), keyAt(1, other), pictureAt(2), keyAt(3)),
      ];
      const { reason } = await clip(sink, 4);
      assert.equal(reason, undefined);
      assert.deepEqual(
        asked.map((wanted) => wanted.mode === 'recorded' && wanted.preRoll),
        [0, -1],
      );
      assert.deepEqual(
        sink.frames.map(({ time }) => time),
        [0, 1, 2, 3],
      );
    });

    it('gives what is there where the recording stays short', async () => {
      steps = [ending(streamOf(keyAt(0), pictureAt(1))), failure('VIDEO_FAILED', { status: 404 })];
      const { reason } = await clip(new NotingSink(), 10, { waitForVideoMs: 1500 });
      assert.equal(reason, 'recording ends');
    });

    it('gives what is there where the relay cannot be reached any more', async () => {
      steps = [ending(streamOf(keyAt(0), pictureAt(1))), failure('NETWORK')];
      const { reason } = await clip(new NotingSink(), 10, { waitForVideoMs: 1500 });
      assert.equal(reason, 'recording ends');
    });

    it('gives what is there where the relay sends next to nothing for ever', async () => {
      const sink = new NotingSink();
      steps = [streamOf(...Array.from({ length: 50 }, (_, count) => keyAt(count / 1000)))];
      const onProgress = (): void => void (slowness += 9000);
      const { reason } = await clip(sink, 10, { onProgress });
      assert.equal(reason, 'stalled');
      assert.ok(sink.frames.length < 15);
    });

    it('is whole where the recording ends within a second of the wanted time', async () => {
      steps = [ending(streamOf(keyAt(0), pictureAt(1), pictureAt(1.8)))];
      const { reason } = await clip(new NotingSink(), 2);
      assert.equal(reason, undefined);
    });

    it('ends with CANCELLED where its node is closed', async () => {
      const stream = streamOf(keyAt(0), pictureAt(1));
      steps = [stream];
      const recording = clip(new NotingSink(), 10);
      await eventually(() => told.some(({ kind }) => kind === 'reading'), 'the first picture');
      controller.abort();
      await assert.rejects(recording, { code: 'CANCELLED' });
      await eventually(() => stream.closed && video.sessions === 0, 'the end of the session');
    });

    it('ends with CANCELLED where its cloud is closed', async () => {
      const stream = streamOf(keyAt(0), pictureAt(1));
      steps = [stream];
      const recording = clip(new NotingSink(), 10);
      await eventually(() => told.some(({ kind }) => kind === 'reading'), 'the first picture');
      const rejected = assert.rejects(recording, { code: 'CANCELLED' });
      await video.close();
      await rejected;
      assert.deepEqual([stream.closed, video.sessions], [true, 0]);
    });
  });
});
