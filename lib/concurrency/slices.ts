import { setImmediate } from 'node:timers/promises';

/** Milliseconds: what a slice causes further on, such as messages on their way, takes its time as well. */
const SLICE_MS = 3;

/** The items one after the other, with pauses that let all others run: for lists that may be long. */
export async function* inSlices<T>(items: Iterable<T>): AsyncGenerator<T> {
  let began = performance.now();
  for (const item of items) {
    if (performance.now() - began > SLICE_MS) {
      await setImmediate();
      began = performance.now();
    }
    yield item;
  }
}

/**
 * The same for work that is done at once for each item: to wait for each would take longer than the work. A pause comes first
 * of all, for what went before may have been as long as a slice.
 */
export async function eachInSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  let began = -Infinity;
  for (const item of items) {
    if (performance.now() - began > SLICE_MS) {
      await setImmediate();
      began = performance.now();
    }
    work(item);
  }
}
