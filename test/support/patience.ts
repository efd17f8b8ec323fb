import { setTimeout as delay } from 'node:timers/promises';

/**
 * How long a test waits for what must come before it calls it missing, in milliseconds. No bound of the package: it is far
 * above what a busy machine needs, and below the time after which mocha ends a test without saying what was missing.
 */
export const PATIENCE = 50_000;

/** Waits until something is so that no event tells of, looking often. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE / 1000} s in vain for ${what}`);
    await delay(5);
  }
}
