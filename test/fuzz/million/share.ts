import type { Target } from '../../../scripts/fuzz/runner';
import { assertNothingFound } from '../assert-nothing-found';

const MILLION = 1_000_000;

/** A test for each target, with its share of a million inputs: each is well within the patience of mocha. */
export function testShares(targets: () => readonly Target[]): void {
  for (const target of targets())
    it(`has nothing wrong in ${target.share.toLocaleString('en-US')} inputs: ${target.name}`, () =>
      assertNothingFound([target], MILLION));
}
