import { CancelToken } from '../concurrency/signals';
import { RvmError, type RvmErrorCode } from '../error';
import { meter } from '../meter';
import { recordClip, type ClipSink, type ClipSpan, type Recorded } from './jobs/clip';
import { Job, type JobClocks, type JobOptions, startOf } from './jobs/job';
import { findMoments, type Moment } from './jobs/pictures';
import { SpanReader } from './jobs/span-reader';
import type { MediaStream } from './media';
import type { Decoder, PictureOptions } from './picture/decoder';
import type { Jpeg } from './picture/ffmpeg-arguments';
import { type MomentClock, SharedStreams, type OpenStream } from './sessions/shared-stream';
import { SessionSlots, type VideoSource } from './sessions/session-slots';

export type { JobOptions } from './jobs/job';
export type { Progress } from './jobs/job';

/** Makes pictures of video. */
export type PictureDecoder = Pick<Decoder, 'demand' | 'picture' | 'sheet' | 'close'>;

interface CloudVideoOptions {
  /** RTSP sessions at once. */
  sessions: number;
  open: OpenStream;
  decoder: PictureDecoder;
  /** Wall clock, in milliseconds. */
  now?: () => number;
  /** Monotonic clock, in milliseconds. */
  monotonic?: () => number;
  /** Called with the result of each job: the code of its error, or undefined. */
  heard?: (source: VideoSource, failure: RvmErrorCode | undefined) => void;
}

interface PicturesWanted {
  /** Seconds relative to the time of the source. */
  offsets: readonly number[];
  /** Largest width in pixels. */
  width?: number | undefined;
}

/** A picture from a recording. */
export interface AlarmPicture extends Jpeg {
  offset: number;
  /** When it was taken: ISO 8601, UTC. */
  time: string;
  /** The clock of `time`: `here` where that of the camera is absent in live video, or off by over 10 s. */
  clock: MomentClock;
  camera: { id: string; name: string };
}

/** All video of one cloud: its RTSP sessions, and the pictures, clips and views made from them. */
export class CloudVideo {
  readonly #upstreams: SharedStreams;
  readonly #decoder: PictureDecoder;
  readonly #clocks: JobClocks;
  readonly #closing = new CancelToken();
  readonly #jobs = new Set<Promise<unknown>>();

  constructor(private readonly options: CloudVideoOptions) {
    const { sessions, open, decoder, now = Date.now, monotonic = () => performance.now() } = options;
    this.#upstreams = new SharedStreams(new SessionSlots(sessions), open, now);
    this.#decoder = decoder;
    this.#clocks = { now, monotonic };
  }

  /** RTSP sessions that are open, or being opened. */
  get sessions(): number {
    return this.#upstreams.count;
  }

  /**
   * Pictures at offsets from the time of a source, in the order of the offsets.
   * @throws RvmError BAD_INPUT and DECODER_MISSING before anything is opened; VIDEO_NOT_YET, VIDEO_FAILED,
   *   VIDEO_BUSY, and those of the session
   */
  pictures(source: VideoSource, wanted: PicturesWanted, options: JobOptions): Promise<AlarmPicture[]> {
    return this.#run(source, options, async (job) => {
      startOf(source.wanted, this.#clocks.now());
      if (source.wanted.mode === 'live' && wanted.offsets.some((offset) => offset < 0)) throw noPast();
      await this.#decoder.demand();
      const decoded = new Map<number, Promise<AlarmPicture>>();
      await findMoments(job, source, wanted.offsets, (moment) => {
        const picture = this.#decoded(moment, { width: wanted.width, signal: options.signal });
        // Before the `await` below a rejection would be unhandled, and end the process.
        picture.catch(() => undefined);
        decoded.set(moment.offset, picture);
      });
      return Promise.all(wanted.offsets.flatMap((offset) => decoded.get(offset) ?? []));
    });
  }

  /** One picture composed of several. @throws RvmError DECODER_MISSING, VIDEO_FAILED, CANCELLED */
  sheet(pictures: readonly Jpeg[], options: PictureOptions): Promise<Jpeg> {
    return this.#decoder.sheet(pictures, options);
  }

  /**
   * Records a clip from the time of a source on.
   * @throws RvmError BAD_INPUT before anything is opened; before the first picture VIDEO_NOT_YET,
   *   VIDEO_FAILED, VIDEO_BUSY, and those of the session; CANCELLED
   */
  clip(source: VideoSource, span: ClipSpan, sink: ClipSink, options: JobOptions): Promise<Recorded> {
    return this.#run(source, options, async (job) => {
      startOf(source.wanted, this.#clocks.now());
      return recordClip(job, source, span, sink);
    });
  }

  /**
   * Video for a viewer, until it is closed; pictures are left out while the viewer is slow.
   * @param seconds length of recorded video; live video has no end
   * @throws RvmError as `clip`
   */
  open(source: VideoSource, seconds: number, options: JobOptions): Promise<MediaStream> {
    return this.#run(source, options, async (job) => {
      const from = startOf(source.wanted, this.#clocks.now());
      const joined = await job.join(source, 'pictures are left out');
      return new SpanReader(joined, from === undefined ? Infinity : from + seconds * 1000);
    });
  }

  /** Ends all jobs with CANCELLED. Resolves when nothing is open any more. */
  async close(): Promise<void> {
    this.#closing.abort(new RvmError('CANCELLED', 'The cloud of this video was closed.'));
    await Promise.all([this.#upstreams.close(), this.#decoder.close()]);
    await Promise.allSettled(this.#jobs);
  }

  async #run<Result>(
    source: VideoSource,
    options: JobOptions,
    work: (job: Job) => Promise<Result>,
  ): Promise<Result> {
    const job = new Job(this.#upstreams, options, this.#closing, this.#clocks);
    const working = work(job).finally(() => job.end());
    this.#jobs.add(working);
    meter()?.videoBegan();
    try {
      const result = await working;
      meter()?.videoEnded(undefined);
      this.options.heard?.(source, undefined);
      return result;
    } catch (error) {
      meter()?.videoEnded(error instanceof RvmError ? error.code : 'other');
      if (error instanceof RvmError) this.options.heard?.(source, error.code);
      throw error;
    } finally {
      this.#jobs.delete(working);
    }
  }

  async #decoded(moment: Moment, options: PictureOptions): Promise<AlarmPicture> {
    const picture = await this.#decoder.picture(moment.frames, moment.time, options);
    return {
      offset: moment.offset,
      time: new Date(moment.takenAt).toISOString(),
      clock: moment.clock,
      camera: moment.camera,
      ...picture,
    };
  }
}

function noPast(): RvmError {
  return new RvmError(
    'BAD_INPUT',
    'Live video has no past: leave out the offsets below 0, or choose recorded video.',
  );
}
