import { TestProcess, type FileResult } from './test-process';

export interface RunOptions {
  /** Number of concurrent processes. */
  jobs: number;
  /** Seconds without news after which a file counts as hanging. */
  silence: number;
  grep?: string;
}

/** Seconds that a process has to end by itself; idle keep-alive connections close within them. */
const MOST_TO_END = 120;

/** Runs test files in order, in several processes; each takes the next file when it has finished one. */
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
