import type { RtspWanted } from '../../cloud/calls';
import { parseWantedTime } from '../../cloud/functions/rtsp';
import { saysNoVideo } from '../../cloud/http/answer';
import { failureOf, RETRY_POLICY } from '../../cloud/http/retry-policy';
import { CancelToken, cancelTokenOf } from '../../concurrency/signals';
import { clampTimerMs } from '../../concurrency/timers';
import { RvmError } from '../../error';
import { LONGEST_VIDEO_WAIT_S } from '../../limits';
import { meter, secondsSince } from '../../meter';
import type { VideoSource } from '../sessions/session-slots';
import type { Subscription, Slow, SharedStreams } from '../sessions/shared-stream';

/** Video that has begun may take so many times its length, and so many milliseconds more: lines are slow, and places are waited for. */
const TIMES = 2;
const GRACE = 60_000;

export interface JobOptions {
  /** Ends the job with CANCELLED, or with the `RvmError` that is its reason. */
  signal: AbortSignal;
  /** Milliseconds until the first picture. */
  deadlineMs: number;
  /** Milliseconds to wait until the recording exists. */
  waitForVideoMs: number;
  onProgress?: (progress: Progress) => void;
}

interface JobClocks {
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  /** Wall clock, in milliseconds. */
  now: () => number;
}

/** One picture, clip or view on its way: how long it may wait, and for what. */
export class Job {
  readonly #upstreams: SharedStreams;
  readonly #options: JobOptions;
  readonly #ending = new CancelToken();
  readonly #clocks: JobClocks;
  /** Since when more of the recording is waited for. */
  #waitsSince: number | undefined;
  /** When the first session had a picture: the deadline does not count any more. */
  #begunAt: number | undefined;
  readonly #deadline: NodeJS.Timeout;
  readonly #stopListening: readonly (() => void)[];
  readonly #madeAt = performance.now();
  #failure: RvmError | undefined;

  /** @param closing ends it as well */
  constructor(upstreams: SharedStreams, options: JobOptions, closing: CancelToken, clocks: JobClocks) {
    this.#upstreams = upstreams;
    this.#options = options;
    this.#clocks = clocks;
    this.#stopListening = [cancelTokenOf(options.signal), closing].map((abort) =>
      abort.onAbort((reason) => this.#ending.abort(reason)),
    );
    this.#deadline = setTimeout(
      () => this.#ending.abort(this.#failure ?? deadlineOver()),
      clampTimerMs(options.deadlineMs),
    );
  }

  /** Its signal was aborted, or its deadline is over. */
  get hasEnded(): boolean {
    return this.#ending.reason !== undefined;
  }

  tell(progress: Progress): void {
    this.#options.onProgress?.(progress);
  }

  /**
   * Joins the session that has what is wanted; what failed in passing is tried again, and a recording that does not exist yet is
   * waited for. Its readers end with the job.
   * @throws RvmError VIDEO_NOT_YET where there is no recording until the end of the waiting; at the deadline the last error
   */
  async join(source: VideoSource, slow: Slow): Promise<Subscription> {
    for (let attempt = 1; ; attempt += 1) {
      this.tell({ kind: 'opening' });
      try {
        const joined = await this.#upstreams.join(source, { ending: this.#ending, slow });
        clearTimeout(this.#deadline);
        if (this.#begunAt === undefined) meter()?.firstFrame(secondsSince(this.#madeAt));
        this.#begunAt ??= this.#clocks.steady();
        this.#ending.onAbort((reason) => joined.reader.abandon(reason));
        return joined;
      } catch (error) {
        await this.again(error, attempt, source.wanted.mode === 'live');
      }
    }
  }

  /**
   * Waits before what failed is tried again: before the first picture until the deadline, behind it no longer than for a recording.
   * @param attempt how often it has failed, from 1
   * @throws the error where that makes no sense, or there is no time; the reason where the job has ended
   */
  async again(error: unknown, attempt: number, isLive = false): Promise<void> {
    if (this.#ending.reason !== undefined) throw this.#ending.reason;
    const cure = retryAdvice(error, attempt, isLive);
    if (!(error instanceof RvmError) || cure === 'none') throw error;
    const isNotYet = cure === 'wait for the recording';
    const ms = pauseBefore(attempt);
    this.#failure = isNotYet ? notYet(error) : error;
    if ((isNotYet || this.#begunAt !== undefined) && !this.#hasTimeFor(ms)) throw this.#failure;
    if (isNotYet) this.tell({ kind: 'waiting' });
    await this.#pause(ms);
  }

  /** Some of the recording came: the time to wait for the rest begins anew. */
  came(): void {
    this.#waitsSince = undefined;
  }

  /** Whether a recording of this moment, in milliseconds since 1970, may still come: not what is missing in one that is old. */
  mayCome(moment: number): boolean {
    return moment > this.#clocks.now() - LONGEST_VIDEO_WAIT_S * 1000;
  }

  /**
   * Whether video of this length should have come long ago: a relay that sends a little now and then must not keep a session, and
   * the message that waits for it, for ever.
   */
  isOverdue(seconds: number): boolean {
    if (this.#begunAt === undefined) return false;
    const longest = seconds * 1000 * TIMES + GRACE + this.#options.waitForVideoMs;
    return this.#clocks.steady() - this.#begunAt > longest;
  }

  end(): void {
    clearTimeout(this.#deadline);
    for (const stop of this.#stopListening) stop();
  }

  #hasTimeFor(pause: number): boolean {
    this.#waitsSince ??= this.#clocks.steady();
    return this.#clocks.steady() - this.#waitsSince + pause <= this.#options.waitForVideoMs;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        stopListening();
        resolve();
      }, ms);
      const stopListening = this.#ending.onAbort((reason) => {
        clearTimeout(timer);
        reject(reason);
      });
    });
  }
}

function notYet({ cause }: RvmError): RvmError {
  return new RvmError(
    'VIDEO_NOT_YET',
    'There is no recording of this time yet: wait longer for it, or look whether the camera records, and at the clocks of camera and service.',
    cause,
  );
}

function deadlineOver(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'The time limit of this message was over before the first picture had come; allow more time in the node, or more videos at once in the cloud.',
  );
}

/** What may be done about a video that did not come. */
type RetryAdvice =
  /** There is no recording yet: it may come. */
  | 'wait for the recording'
  /** Something failed in passing. */
  | 'try again'
  /** Only a person can cure it, or it would be the same again. */
  | 'none';

/** RTSP statuses of a relay that has no video of this time: not found, and a range outside the recording (RFC 2326, section 7.1.1). */
const NO_RECORDING: ReadonlySet<number> = new Set([404, 457]);
/** Not enough bandwidth: a relay that is busy. */
const BUSY = 453;
/** A relay that breaks off, or sends what cannot be read, may do so once or twice by chance. */
const MOST_BREAKS = 3;

/**
 * The one place that says what may be asked for again, until the deadline of the job.
 * @param isLive live video comes from no recording: what a relay does not know now it will not know later
 */
function retryAdvice(error: unknown, attempts: number, isLive = false): RetryAdvice {
  if (!(error instanceof RvmError)) return 'none';
  const { code, cause } = error;
  if (code === 'VIDEO_NOT_YET') return 'wait for the recording';
  if (saysNoVideo(error)) return isLive ? 'none' : 'wait for the recording';
  if (code !== 'VIDEO_FAILED') {
    return RETRY_POLICY[failureOf(error, true)]['RTSP session'] === 'never' ? 'none' : 'try again';
  }
  const { status } = cause;
  if (status === undefined) return attempts < MOST_BREAKS ? 'try again' : 'none';
  if (NO_RECORDING.has(status)) return isLive ? 'none' : 'wait for the recording';
  return status === BUSY || status >= 500 ? 'try again' : 'none';
}

/** Milliseconds before the next attempt. */
function pauseBefore(attempt: number): number {
  return Math.min(1000 * 2 ** (attempt - 1), 8000);
}

/** What a job is at, for the status of its node. */
export type Progress =
  /** For a session of the cloud, and for the relay's first picture. */
  | { kind: 'opening' }
  /** There is no recording yet. */
  | { kind: 'waiting' }
  /** Seconds of video that are there, of those wanted; undefined while the end is not known. */
  | { kind: 'reading'; seconds: number; of: number | undefined };

/** Milliseconds: clocks of two machines are hardly ever nearer. */
const CLOCKS = 5000;

/** The same camera from a time some seconds later on; live video is live. */
export function later(source: VideoSource, seconds: number): VideoSource {
  const { wanted } = source;
  if (wanted.mode === 'live' || seconds === 0) return source;
  return { ...source, wanted: { ...wanted, preRoll: wanted.preRoll - seconds } };
}

/**
 * When what is wanted begins, in milliseconds since 1970; undefined for live video. Asked before anything is opened.
 * @throws RvmError BAD_INPUT for a time that cannot be read, and for a chosen one in the future
 */
export function startOf(wanted: RtspWanted, now: number): number | undefined {
  const time = parseWantedTime(wanted);
  if (wanted.mode !== 'recorded' || time === undefined || time <= now + CLOCKS) return time;
  throw new RvmError(
    'BAD_INPUT',
    'The time of the recorded video lies in the future: give one that is past, or choose live video.',
  );
}
