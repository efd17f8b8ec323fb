import fs from 'node:fs';
import path from 'node:path';
import { ALONE, isIn, isInLane, type Lane } from '../../test/support/suite/lanes';
import { ROOT } from '../build';
import { type FileResult, TestProcess } from './test-process';

/** The slowest files start first; otherwise processors would be idle while the last file runs. */
const LONGEST_FIRST = [
  'test/editor/dialogs/dialogs.test.ts',
  'test/nodes/package.test.ts',
  'test/nodes/shared-inbox-faults.test.ts',
  'test/editor/sidebar.test.ts',
  'test/editor/palette.test.ts',
  'test/nodes/webhook-in.test.ts',
  'test/cloud/chaos.test.ts',
  'test/nodes/watch-instances.test.ts',
  'test/video/view/player.test.ts',
  'test/faults/kill.test.ts',
  'test/faults/store-file.test.ts',
  'test/inbox/each/retention.test.ts',
  'test/editor/dialogs/pickers.test.ts',
  'test/webhook/policy.test.ts',
  'test/inbox/each/deliveries.test.ts',
  'test/nodes/broken-video.test.ts',
  'test/proxies/balancers.test.ts',
  'test/examples/10-board/hands.test.ts',
  'test/video/picture/frames.test.ts',
  'test/nodes/shared-inbox.test.ts',
  'test/examples/10-board/shown.test.ts',
  'test/inbox/salvage.test.ts',
  'test/nodes/reach.test.ts',
  'test/nodes/settle.test.ts',
  'test/nodes/sandbox-cloud.test.ts',
  'test/scripts/start.test.ts',
  'test/nodes/watch.test.ts',
  'test/examples/03-modbus.test.ts',
  'test/examples/08-preset.test.ts',
  'test/inbox/unread.test.ts',
  'test/video/jobs/jobs.test.ts',
  'test/inbox/store.test.ts',
  'test/cloud/circuit.test.ts',
  'test/scripts/test-command.test.ts',
];

/** Absolute paths of test files. */
interface Plan {
  /** In order of starting. */
  together: string[];
  /** Run after the others, one at a time. */
  alone: string[];
}

export function everyFile(lane: Lane): string[] {
  return testFilesBelow(path.join(ROOT, 'test')).filter((file) => isInLane(lane, nameOf(file)));
}

/**
 * The test files that the command line names: files, or all in a folder.
 * @throws Error if a path does not exist or contains no test
 */
export function namedFiles(names: readonly string[]): string[] {
  return names.flatMap((named) => {
    const full = path.resolve(ROOT, named);
    if (!fs.existsSync(full)) throw new Error(`There is no ${named}.`);
    const files = fs.statSync(full).isDirectory() ? testFilesBelow(full) : [full];
    if (files.length === 0) throw new Error(`There is no test below ${named}.`);
    return files;
  });
}

export function planFor(files: readonly string[]): Plan {
  const rank = (file: string): number => {
    const named = LONGEST_FIRST.indexOf(nameOf(file));
    return named === -1 ? LONGEST_FIRST.length : named;
  };
  const isAlone = (file: string): boolean => isIn(ALONE, nameOf(file));
  return {
    together: files.filter((file) => !isAlone(file)).sort((one, other) => rank(one) - rank(other)),
    alone: files.filter(isAlone),
  };
}

/** The path relative to the project root, with slashes, as in the lists of files. */
export function nameOf(file: string): string {
  return path.relative(ROOT, file).replaceAll(path.sep, '/');
}

function testFilesBelow(folder: string): string[] {
  return fs
    .readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .flatMap((entry) => {
      const named = path.join(folder, entry.name);
      if (entry.isDirectory()) return testFilesBelow(named);
      return entry.name.endsWith('.test.ts') ? [named] : [];
    })
    .sort();
}

interface RunOptions {
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
