import type { Plan } from './plan';
import { runFiles, type RunOptions } from './run-files';
import type { FileResult } from './test-process';

/** @param besides what runs beside the files, but beside none that measures the machine */
export async function runPlan(
  { together, alone }: Plan,
  options: RunOptions,
  besides: Promise<unknown>,
  onResult: (result: FileResult) => void,
): Promise<void> {
  await Promise.all([runFiles(together, options, onResult), besides]);
  // Each in a process that nothing has run in.
  for (const file of alone) await runFiles([file], { ...options, jobs: 1 }, onResult);
}
