/** Pauses before the next delivery, in milliseconds; the last one from then on. */
const PAUSES = [1_000, 5_000, 30_000, 120_000, 600_000] as const;

/**
 * The pause after a delivery that came to nothing, in milliseconds.
 * @param attempts deliveries so far, at least 1
 */
export function backOff(attempts: number): number {
  return PAUSES[Math.max(0, attempts - 1)] ?? PAUSES[4];
}

/** Before the store is asked again after it failed, in milliseconds. */
export const ASK_AGAIN_AFTER = 1000;
