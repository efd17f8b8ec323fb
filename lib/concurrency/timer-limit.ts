/** Timers hold no more milliseconds than this; beyond it they would fire without a pause. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Milliseconds that a timer can hold. */
export function timerMs(ms: number): number {
  return Math.min(ms, LONGEST_TIMER);
}
