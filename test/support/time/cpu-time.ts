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

/** What disturbs some rounds of a comparison does not disturb all of them; what costs too much does so in each. */
const MOST_ROUNDS = 15;

/**
 * Fails where a piece of work costs more than so many times another one, both measured in turns. What others do on the same
 * processor makes a round dearer, so that one of them below the bound is enough.
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
  let least = Infinity;
  for (let round = 0; round < MOST_ROUNDS && least >= most; round += 1)
    least = Math.min(least, (await cost(work)) / (await cost(other)));
  assert.ok(least < most, `at least ${least.toFixed(1)} times, not ${most}`);
}
