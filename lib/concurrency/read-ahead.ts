/**
 * The same sequence, with the next item under way while this one is worked on. What it fails with is told in its turn. Only
 * for those who take all items: the one after the last that is taken has been asked for in vain.
 */
export async function* readAhead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
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
