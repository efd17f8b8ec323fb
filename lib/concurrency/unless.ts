import type { Abort } from './abort';

/** The outcome of work that goes on all the same. @throws the reason of the ending, where that comes before */
export function unless<Result>(ending: Abort, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stopListening = ending.onAbort(reject);
    work.then(resolve, reject).finally(stopListening);
  });
}
