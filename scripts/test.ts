/**
 * `npm test`: every check of the project. The static checks run in parallel with the tests. A failed static
 * check stops the tests; a failed test stops no other. The last line counts the tests: "N passed, N failed".
 *
 * - `--lane all`, `--lane nightly`: also run tests that `npm test` leaves out (test/support/suite/lanes.ts)
 * - files and folders: run only these, with all their tests
 * - `--no-skips`: a skipped test counts as failed
 * - `--tests-only`: no build and no static checks
 * - `--grep`: as in mocha
 * - `--jobs`: number of concurrent processes
 * - `--silence`: seconds without news after which a file counts as hanging
 */
import os from 'node:os';
import { parseArgs } from 'node:util';
import { LANE_VARIABLE, LANES, type Lane } from '../test/support/suite/lanes';
import { NO_SKIPS_VARIABLE } from '../test/support/suite/programs';
import { build } from './build';
import { everyFile, namedFiles, planFor, runPlan } from './testing/plan';
import { Report } from './testing/report';
import { runStaticChecks } from './testing/static-checks';
import { TestProcess } from './testing/test-process';

const OPTIONS = {
  lane: { type: 'string', default: 'quick' },
  'no-skips': { type: 'boolean', default: false },
  'tests-only': { type: 'boolean', default: false },
  grep: { type: 'string', short: 'g' },
  // Two per processor: tests wait about half of their time, for timers and starting processes.
  jobs: { type: 'string', default: String(Math.min(8, 2 * os.availableParallelism())) },
  // Longer than the longest limit of one test.
  silence: { type: 'string', default: '900' },
} as const;

/** @throws Error if there is no such lane */
function laneOf(name: string): Lane {
  const lane = LANES.find((each) => each === name);
  if (lane !== undefined) return lane;
  throw new Error(`--lane takes one of ${LANES.join(', ')}, not "${name}".`);
}

/** The files to run. Their tests read the lane from the environment. */
function select(names: readonly string[], lane: Lane): string[] {
  process.env[LANE_VARIABLE] = lane;
  return names.length > 0 ? namedFiles(names) : everyFile(lane);
}

/** @throws Error if an option is no positive integer: with no process no test would run, and none fail */
function counted(option: string, value: string): number {
  if (/^[1-9]\d*$/.test(value)) return Number(value);
  throw new Error(`--${option} takes a positive integer, not "${value}".`);
}

/** Ends the running test processes with all that they started, and exits. */
function stopEarly(report: Report): never {
  TestProcess.killAll();
  report.end();
  process.exit(1);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const lane = positionals.length > 0 ? 'nightly' : laneOf(values.lane);
  const files = select(positionals, lane);
  const { grep } = values;
  const options = { jobs: counted('jobs', values.jobs), silence: counted('silence', values.silence), grep };
  if (values['no-skips']) process.env[NO_SKIPS_VARIABLE] = 'yes';
  const report = new Report(values['no-skips']);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      report.addCheck({ name: 'the run', ok: false, seconds: 0, output: `Stopped by ${signal}.` });
      stopEarly(report);
    });

  if (!values['tests-only']) build();
  const checks = values['tests-only']
    ? Promise.resolve()
    : runStaticChecks((result) => report.addCheck(result)).then((ok) => (ok ? undefined : stopEarly(report)));
  await runPlan(planFor(files), options, checks, (result) => report.addFile(result));
  if (!report.end()) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
});
