import { withTimeout } from '../../../concurrency/timers';

/** Before the next one is tried, too, in milliseconds: what answers at all does so sooner. */
const HEAD_START = 1000;

/**
 * The first that is reached of several, in whose order they are tried: the next one once those before have failed, or have not
 * answered for a second. A machine that has lost its power says nothing, and others wait for nothing as long as it is asked.
 * @param drop told of those that are reached later
 * @throws AggregateError of all failures, in the order of the tries
 */
export async function firstReached<Result>(
  tries: readonly (() => Promise<Result>)[],
  drop: (late: Result) => void,
): Promise<Result> {
  const underWay: Promise<Result>[] = [];
  for (const start of tries) {
    underWay.push(start());
    const reached = await withTimeout(Promise.any(underWay), HEAD_START).catch(() => undefined);
    if (reached !== undefined) return without(underWay, reached, drop);
  }
  return without(underWay, await Promise.any(underWay), drop);
}

function without<Result>(
  underWay: readonly Promise<Result>[],
  reached: Result,
  drop: (late: Result) => void,
): Result {
  for (const each of underWay)
    each.then(
      (result) => {
        if (result !== reached) drop(result);
      },
      () => undefined,
    );
  return reached;
}
