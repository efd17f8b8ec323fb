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

/**
 * Once video has begun, it may take `TIMES` its length plus `GRACE` milliseconds: networks are slow, and slots are waited for.
 */
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

export interface JobClocks {
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number;
  /** Wall clock, in milliseconds. */
  now: () => number;
}

/** One picture, clip or view in progress: its deadline, its retries and its waiting times. */
export class Job {
  readonly #ending = new CancelToken();
  /** Start of the current wait for more of the recording. */
  #waitsSince: number | undefined;
  /** When the first session had a picture: from then on the deadline no longer applies. */
  #begunAt: number | undefined;
  readonly #deadline: NodeJS.Timeout;
  readonly #stopListening: readonly (() => void)[];
  readonly #madeAt = performance.now();
  #failure: RvmError | undefined;

  /** @param closing ends the job as well */
  constructor(
    private readonly upstreams: SharedStreams,
    private readonly options: JobOptions,
    closing: CancelToken,
    private readonly clocks: JobClocks,
  ) {
    this.#stopListening = [cancelTokenOf(options.signal), closing].map((abort) =>
      abort.onAbort((reason) => this.#ending.abort(reason)),
    );
    this.#deadline = setTimeout(
      () => this.#ending.abort(this.#failure ?? deadlineOver()),
      clampTimerMs(options.deadlineMs),
    );
  }

  /** True once its signal is aborted or its deadline is over. */
  get hasEnded(): boolean {
    return this.#ending.reason !== undefined;
  }

  report(progress: Progress): void {
    this.options.onProgress?.(progress);
  }

  /**
   * Joins a session with the wanted video. Retries transient failures, and waits for a recording that does
   * not exist yet. The reader ends with the job.
   * @throws RvmError VIDEO_NOT_YET without a recording at the end of the wait; at the deadline the last
   *   error
   */
  async join(source: VideoSource, slow: Slow): Promise<Subscription> {
    for (let attempt = 1; ; attempt += 1) {
      this.report({ kind: 'opening' });
      try {
        const joined = await this.upstreams.join(source, { ending: this.#ending, slow });
        clearTimeout(this.#deadline);
        if (this.#begunAt === undefined) meter()?.firstFrame(secondsSince(this.#madeAt));
        this.#begunAt ??= this.clocks.monotonic();
        this.#ending.onAbort((reason) => joined.reader.abandon(reason));
        return joined;
      } catch (error) {
        await this.again(error, attempt, source.wanted.mode === 'live');
      }
    }
  }

  /**
   * Waits before a retry: until the deadline before the first picture; afterwards only as long as for a recording.
   * @param attempt number of failures, from 1
   * @throws the error where a retry is useless or there is no time; the reason where the job has ended
   */
  async again(error: unknown, attempt: number, isLive = false): Promise<void> {
    if (this.#ending.reason !== undefined) throw this.#ending.reason;
    const cure = retryAdvice(error, attempt, isLive);
    if (!(error instanceof RvmError) || cure === 'none') throw error;
    const isNotYet = cure === 'wait for the recording';
    const ms = pauseBefore(attempt);
    this.#failure = isNotYet ? notYet(error) : error;
    if ((isNotYet || this.#begunAt !== undefined) && !this.#hasTimeFor(ms)) throw this.#failure;
    if (isNotYet) this.report({ kind: 'waiting' });
    await this.#pause(ms);
  }

  /** Part of the recording has arrived: restarts the time limit of the wait for the rest. */
  came(): void {
    this.#waitsSince = undefined;
  }

  /** Whether a recording of this moment (milliseconds since 1970) may still appear: not where the moment is long past. */
  mayCome(moment: number): boolean {
    return moment > this.clocks.now() - LONGEST_VIDEO_WAIT_S * 1000;
  }

  /**
   * Whether video of this length is overdue: a relay that sends a little now and then must not occupy a session, and the
   * waiting message, for ever.
   */
  isOverdue(seconds: number): boolean {
    if (this.#begunAt === undefined) return false;
    const longest = seconds * 1000 * TIMES + GRACE + this.options.waitForVideoMs;
    return this.clocks.monotonic() - this.#begunAt > longest;
  }

  end(): void {
    clearTimeout(this.#deadline);
    for (const stop of this.#stopListening) stop();
  }

  #hasTimeFor(pause: number): boolean {
    this.#waitsSince ??= this.clocks.monotonic();
    return this.clocks.monotonic() - this.#waitsSince + pause <= this.options.waitForVideoMs;
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

/** What to do about a video that failed. */
type RetryAdvice =
  /** There is no recording yet, but it may appear. */
  | 'wait for the recording'
  /** The failure is transient. */
  | 'try again'
  /** Only a person can fix it, or a retry would fail the same way. */
  | 'none';

/**
 * RTSP statuses of a relay without video of this time: not found, and range outside the recording (RFC 2326, section 7.1.1).
 */
const NO_RECORDING: ReadonlySet<number> = new Set([404, 457]);
/** Not enough bandwidth: the relay is busy. */
const BUSY = 453;
/** Attempts after a relay broke off or sent unreadable data: once or twice that may be by chance. */
const MOST_BREAKS = 3;

/**
 * The single rule for retries within the deadline of a job.
 * @param isLive live video needs no recording: an address that the relay does not know now stays unknown
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

/** Progress of a job, for the status of its node. */
export type Progress =
  /** Waits for a session of the cloud and the first picture of the relay. */
  | { kind: 'opening' }
  /** There is no recording yet. */
  | { kind: 'waiting' }
  /** Seconds of video received, and seconds wanted; undefined while the end is unknown. */
  | { kind: 'reading'; seconds: number; of: number | undefined };

/** Tolerated difference between the clocks of two machines, in milliseconds. */
const CLOCKS = 5000;

/** The same source, some seconds later; live video stays unchanged. */
export function later(source: VideoSource, seconds: number): VideoSource {
  const { wanted } = source;
  if (wanted.mode === 'live' || seconds === 0) return source;
  return { ...source, wanted: { ...wanted, preRoll: wanted.preRoll - seconds } };
}

/**
 * Start of the wanted video in milliseconds since 1970; undefined for live video. Called before anything is opened.
 * @throws RvmError BAD_INPUT for a time that cannot be read, and for a chosen time in the future
 */
export function startOf(wanted: RtspWanted, now: number): number | undefined {
  const time = parseWantedTime(wanted);
  if (wanted.mode !== 'recorded' || time === undefined || time <= now + CLOCKS) return time;
  throw new RvmError(
    'BAD_INPUT',
    'The time of the recorded video lies in the future: give one that is past, or choose live video.',
  );
}
