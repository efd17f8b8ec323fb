/** Time between two looks, in milliseconds. */
const LOOK_EVERY = 25;

/** Ends a wait: `until` is a time of the steady clock, in milliseconds; `givenUp` says that waiting is pointless. */
export interface HoldLimits {
  until: number;
  steady: () => number;
  givenUp: () => boolean;
}

/**
 * Waits until `look` finds something, and looks again every few milliseconds until the limit. Undefined where it never
 * did. What is waited for is spread over many nodes, so asking is simpler, and surer, than being told.
 */
export async function holdFor<Found>(
  look: () => Found | undefined,
  limits: HoldLimits,
): Promise<Found | undefined> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    if (limits.givenUp() || limits.steady() >= limits.until) return undefined;
    await pause(Math.min(LOOK_EVERY, Math.max(1, limits.until - limits.steady())));
  }
}

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
    const timer = setTimeout(() => resolve(undefined), duration);
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
