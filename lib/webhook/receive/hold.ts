import { pause } from '../../work/within';

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
