/** Far more than any way from a change to its last effect has. */
const STEPS = 500;

/**
 * Waits until all is done that follows in the same turn of the event loop: no timer, and nothing that comes by a socket, has its
 * turn meanwhile.
 */
export async function endOfTurn(): Promise<void> {
  for (let step = 0; step < STEPS; step++) await Promise.resolve();
}
