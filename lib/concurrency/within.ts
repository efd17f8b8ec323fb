import { lateTimeout } from './late-timeout';

/** @param duration milliseconds */
export function pause(duration: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, duration);
  });
}

/**
 * The outcome of `work`, or undefined where it is not there in time. Work goes on all the same; its later failure is
 * nobody's any more.
 * @param duration milliseconds
 */
export function within<Result>(work: Promise<Result>, duration: number): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const timer = lateTimeout(() => resolve(undefined), duration);
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
