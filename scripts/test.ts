/**
 * `npm test`: every check of the project, the static ones beside the tests; each runs even if an earlier one failed, so that one
 * run shows all. The last line counts the tests: "N passed, N failed".
 *
 * `--all` runs what `npm test` leaves out, too (test/support/lanes.ts); files and folders on the command line are run whole
 * instead. `--tests-only` runs them with dist/ as it is and no static check. `--grep` as in mocha, `--jobs` processes at the
 * same time, `--silence` seconds after which a file counts as one that never ends.
 */
import os from 'node:os';
import { parseArgs } from 'node:util';
import { LANE_VARIABLE } from '../test/support/lanes';
import { build } from './build';
import { everyFile, namedFiles, planFor } from './testing/plan';
import { Report } from './testing/report';
import { runFiles, type RunOptions } from './testing/run-files';
import { runStaticChecks } from './testing/static-checks';
import { TestProcess, type FileResult } from './testing/test-process';

const OPTIONS = {
  all: { type: 'boolean', default: false },
  'tests-only': { type: 'boolean', default: false },
  grep: { type: 'string', short: 'g' },
  // Tests wait about half of their time: for timers, and for processes to start.
  jobs: { type: 'string', default: String(Math.min(8, os.availableParallelism() + 1)) },
  // Longer than the longest limit of one test.
  silence: { type: 'string', default: '300' },
} as const;

async function runTests(files: readonly string[], options: RunOptions, report: Report): Promise<void> {
  const { alone, together } = planFor(files);
  const onResult = (result: FileResult): void => report.addFile(result);
  await runFiles(together, options, onResult);
  // Each in a process that nothing has run in.
  for (const file of alone) await runFiles([file], { ...options, jobs: 1 }, onResult);
}

/** Files to run; their tests read from the environment whether they are to be run whole. */
function select(places: readonly string[], all: boolean): string[] {
  const lane = all || places.length > 0 ? 'all' : 'quick';
  process.env[LANE_VARIABLE] = lane;
  return places.length > 0 ? namedFiles(places) : everyFile(lane);
}

/** Tests leave processes of their own, which nobody would end. */
function stopEarly(report: Report, signal: NodeJS.Signals): void {
  TestProcess.killAll();
  report.addCheck({ name: 'the run', ok: false, seconds: 0, output: `Stopped by ${signal}.` });
  report.end();
  process.exit(1);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const files = select(positionals, values.all);
  const options = { jobs: Number(values.jobs), silence: Number(values.silence), grep: values.grep };
  const report = new Report(Boolean(process.env.CI));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => stopEarly(report, signal));

  if (!values['tests-only']) build();
  const checks = values['tests-only']
    ? Promise.resolve()
    : runStaticChecks((result) => report.addCheck(result));
  await Promise.all([runTests(files, options, report), checks]);
  if (!report.end()) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
});
