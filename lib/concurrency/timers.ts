import type { CancelToken } from './signals';

/** @param duration milliseconds */
export function sleep(duration: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, duration);
  });
}

/**
 * The outcome of `work`, or undefined after a timeout. The work is not cancelled; its later failure is ignored.
 * @param duration timeout in milliseconds
 */
export function withTimeout<Result>(work: Promise<Result>, duration: number): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const timer = lenientTimeout(() => resolve(undefined), duration);
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      settle();
    };
    work.then(
      (result) => end(() => resolve(result)),
      (error: Error) => end(() => reject(error)),
    );
  });
}

/**
 * A circuit breaker for work that hangs: it opens with a timeout, and closes when the work that was not waited for has ended after
 * all. Until then nothing else is waited for.
 */
export class TimeoutBreaker {
  #hanging = 0;

  /** @param onClosed told when nothing hangs any more */
  constructor(private readonly onClosed: () => void = () => undefined) {}

  get isOpen(): boolean {
    return this.#hanging > 0;
  }

  /** The work is not waited for any more. */
  trip(work: Promise<unknown>): void {
    this.#hanging += 1;
    const ended = (): void => {
      this.#hanging -= 1;
      if (!this.isOpen) this.onClosed();
    };
    work.then(ended, ended);
  }

  /**
   * The outcome of work that is under way; undefined after a timeout, or at once while it is open.
   * @param duration timeout in milliseconds
   */
  async within<Result>(work: Promise<Result>, duration: number): Promise<{ give: Result } | undefined> {
    if (this.isOpen) {
      work.catch(() => undefined);
      return undefined;
    }
    const given = await withTimeout(
      work.then((give) => ({ give })),
      duration,
    );
    if (given === undefined) this.trip(work);
    return given;
  }
}

/**
 * The outcome of work that is not cancelled itself.
 * @throws the reason of the token, where that comes first
 */
export function cancellable<Result>(ending: CancelToken, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stopListening = ending.onAbort(reject);
    work.then(resolve, reject).finally(stopListening);
  });
}

/**
 * A timer that fires only after the I/O that has arrived by then was processed. In a turn of the event loop timers run before
 * sockets, so in a process that was busy the awaited data may be there already.
 * @param ms milliseconds; negative where the time was over before
 */
export function lenientTimeout(act: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(act), Math.max(0, ms));
}

/** Longest time of a Node.js timer, in milliseconds; a longer one would fire at once, again and again. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Limits milliseconds to what a timer can take. */
export function clampTimerMs(ms: number): number {
  return Math.min(ms, LONGEST_TIMER);
}
