import { setImmediate } from 'node:timers/promises';

/** Milliseconds: what a slice causes further on, such as messages on their way, takes its time as well. */
const SLICE_MS = 3;

/** The items one after the other, with pauses that let all others run: for lists that may be long. */
export async function* timeSliced<T>(items: Iterable<T>): AsyncGenerator<T> {
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
export async function forEachTimeSliced<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  let began = -Infinity;
  for (const item of items) {
    if (performance.now() - began > SLICE_MS) {
      await setImmediate();
      began = performance.now();
    }
    work(item);
  }
}

/**
 * The same sequence, with the next item under way while this one is worked on. What it fails with is told in its turn. Only
 * for those who take all items: the one after the last that is taken has been asked for in vain.
 */
export async function* prefetch<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  let coming = iterator.next();
  for (;;) {
    const result = await coming;
    if (result.done === true) return;
    coming = iterator.next();
    // Until it is waited for, nobody would hear of a failure, and Node.js ends a process for that.
    coming.catch(() => undefined);
    yield result.value;
  }
}
