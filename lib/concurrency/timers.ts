import type { CancelToken } from './signals';

/** @param duration milliseconds */
export function sleep(duration: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, duration);
  });
}

/**
 * The outcome of `work`, or undefined where it is not there in time. Work goes on all the same; its later failure is
 * nobody's any more.
 * @param duration milliseconds
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

/** The outcome of work that goes on all the same. @throws the reason of the ending, where that comes before */
export function cancellable<Result>(ending: CancelToken, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stopListening = ending.onAbort(reject);
    work.then(resolve, reject).finally(stopListening);
  });
}

/**
 * A timer whose time is up only when what has come by then was looked at: in a turn of the event loop timers come before
 * sockets, so to a process that was busy, what is waited for may be there already.
 * @param ms milliseconds
 */
export function lenientTimeout(act: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(act), ms);
}

/** Timers hold no more milliseconds than this; beyond it they would fire without a pause. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Milliseconds that a timer can hold. */
export function clampTimerMs(ms: number): number {
  return Math.min(ms, LONGEST_TIMER);
}
