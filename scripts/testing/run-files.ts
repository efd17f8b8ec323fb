import { TestProcess, type FileResult } from './test-process';

export interface RunOptions {
  /** Processes at the same time. */
  jobs: number;
  /** Seconds without news after which a file counts as one that never ends. */
  silence: number;
  grep?: string;
}

/** Seconds. Connections that are kept for a next request are let go of within them. */
const MOST_TO_END = 120;

/** Runs test files, the first ones first, in a few processes that each take the next file once they are done with one. */
export async function runFiles(
  files: readonly string[],
  { jobs, silence, grep }: RunOptions,
  onResult: (result: FileResult) => void,
): Promise<void> {
  const waiting = [...files];
  const work = async (): Promise<void> => {
    let tests: TestProcess | undefined;
    const letGo = async (): Promise<void> => {
      const leftBehind = await tests?.end(Math.min(silence, MOST_TO_END));
      if (leftBehind !== undefined) onResult(leftBehind);
    };
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      if (tests?.isRunning === false) await letGo();
      if (tests?.isRunning !== true) tests = new TestProcess();
      onResult(await tests.run({ file, grep }, silence));
    }
    await letGo();
  };
  await Promise.all(Array.from({ length: Math.min(jobs, files.length) }, work));
}
