import type { Plan } from './plan';
import { runFiles, type RunOptions } from './run-files';
import type { FileResult } from './test-process';

/** @param besides other work that runs in parallel with `together`; the files of `alone` wait for its end */
export async function runPlan(
  { together, alone }: Plan,
  options: RunOptions,
  besides: Promise<unknown>,
  onResult: (result: FileResult) => void,
): Promise<void> {
  await Promise.all([runFiles(together, options, onResult), besides]);
  // Each in a new process.
  for (const file of alone) await runFiles([file], { ...options, jobs: 1 }, onResult);
}
