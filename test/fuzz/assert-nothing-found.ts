import assert from 'node:assert/strict';
import type { Target } from '../../scripts/fuzz/runner';

const MILLION = 1_000_000;
/** Always the same inputs, so that a test that fails does so again. */
const SEED = 14;

/** A test for each target, with its share of a million inputs: each is well within the patience of mocha. */
export function testShares(targets: () => readonly Target[]): void {
  for (const target of targets())
    it(`has nothing wrong in ${target.share.toLocaleString('en-US')} inputs: ${target.name}`, () =>
      assertNothingFound([target], MILLION));
}

/** @param inputs of all targets together: each gets its share of them */
export async function assertNothingFound(targets: readonly Target[], inputs: number): Promise<void> {
  for (const target of targets)
    try {
      const share = Math.max(1, Math.round((inputs * target.share) / MILLION));
      const { finding } = await target.run(SEED, share);
      assert.equal(finding, undefined);
    } finally {
      await target.end();
    }
}
