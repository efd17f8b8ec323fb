/** Specification, section 8: an event is sent again until so long after it happened. */
export const RESEND_WINDOW_MS = 24 * 3_600_000;

/** The first waits between attempts, in seconds. */
const FIRST_WAITS_S = [5, 15, 60, 300, 900, 3600];
/** Each later wait is so much longer than the one before. */
const GROWTH_S = 600;

/**
 * Milliseconds from an attempt that failed to the next: longer each time (specification, section 6).
 * @param attempts how many there have been, from 1 on
 */
export function waitAfter(attempts: number): number {
  const last = Math.min(attempts, FIRST_WAITS_S.length);
  return ((FIRST_WAITS_S[last - 1] ?? 0) + (attempts - last) * GROWTH_S) * 1000;
}
