import assert from 'node:assert/strict';

/**
 * Seconds of computing that a piece of work costs this process: other programs make it take longer, but not cost more. For work
 * that would never end if it were done the wrong way; a bound of it needs room for a slow machine.
 */
export async function cpuSeconds(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** The cheapest of some rounds is the one least disturbed; on a busy machine it takes more of them. */
const [FEWEST_ROUNDS, MOST_ROUNDS] = [3, 15];

/**
 * Fails where a piece of work costs more than so many times another one, both measured in turns. What others do on the same
 * processor makes a round dearer, of either: the cheapest of each are compared.
 * @param runs of each in a round, for one may be too short for the clock
 */
export async function assertCost(
  work: () => unknown,
  most: number,
  other: () => unknown,
  runs: number,
): Promise<void> {
  const cost = (each: () => unknown): Promise<number> =>
    cpuSeconds(() => {
      for (let run = 0; run < runs; run += 1) each();
    });
  let [ofWork, ofOther] = [Infinity, Infinity];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    ofWork = Math.min(ofWork, await cost(work));
    ofOther = Math.min(ofOther, await cost(other));
    if (round + 1 >= FEWEST_ROUNDS && ofWork < most * ofOther) return;
  }
  assert.fail(`${(ofWork / ofOther).toFixed(1)} times, not less than ${most}`);
}
