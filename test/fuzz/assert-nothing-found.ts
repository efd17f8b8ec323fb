import assert from 'node:assert/strict';
import { Fuzzer } from '../../scripts/fuzz/fuzzer';
import { findingText } from '../../scripts/fuzz/report';
import type { Target } from '../../scripts/fuzz/target';

/** Always the same inputs, so that a test that fails does so again. */
const SEED = 14;

/** @param inputs of all targets together: each gets its share of them */
export async function assertNothingFound(targets: readonly Target[], inputs: number): Promise<void> {
  const fuzzer = new Fuzzer(targets, SEED);
  try {
    await fuzzer.runTo(inputs);
  } finally {
    await fuzzer.end();
  }
  const findings = fuzzer.tallies.flatMap((tally) => tally.findings.map(findingText));
  assert.deepEqual(findings, []);
}
