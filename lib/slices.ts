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
