import { setImmediate } from 'node:timers/promises';

/** Milliseconds. Short, because what a slice causes, such as messages to be sent, takes time as well. */
const SLICE_MS = 3;

/** Yields the items one by one, with pauses for the event loop: for lists that may be long. */
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
 * The same for synchronous work on each item, where an await for each would take longer than the work. Pauses first, because
 * the code before may have run as long as a slice.
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
 * The same sequence; the next item is loaded while this one is used. Failures are thrown in order. Only for callers that read
 * to the end: the request for the item after the last one used is wasted.
 */
export async function* prefetch<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  let coming = iterator.next();
  for (;;) {
    const result = await coming;
    if (result.done === true) return;
    coming = iterator.next();
    // Until it is awaited, a failure would be an unhandled rejection, which ends the process.
    coming.catch(() => undefined);
    yield result.value;
  }
}
