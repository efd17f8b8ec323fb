/**
 * `npm test`: every check of the project. The static ones run beside the tests, and stop them where one fails; a test that fails
 * stops no other. The last line counts the tests: "N passed, N failed".
 *
 * `--lane all` and `--lane nightly` run what `npm test` leaves out, too (test/support/suite/lanes.ts); files and folders on the
 * command line are run whole instead. `--no-skips`: a test that cannot be run has failed. `--tests-only` runs them with dist/ as
 * it is and no static check. `--grep` as in mocha, `--jobs` processes at the same time, `--silence` seconds after which a file
 * counts as one that never ends.
 */
import os from 'node:os';
import { parseArgs } from 'node:util';
import { LANE_VARIABLE, LANES, type Lane } from '../test/support/suite/lanes';
import { NO_SKIPS_VARIABLE } from '../test/support/suite/programs';
import { build } from './build';
import { everyFile, namedFiles, planFor } from './testing/plan';
import { Report } from './testing/report';
import { runPlan } from './testing/run-plan';
import { runStaticChecks } from './testing/static-checks';
import { TestProcess } from './testing/test-process';

const OPTIONS = {
  lane: { type: 'string', default: 'quick' },
  'no-skips': { type: 'boolean', default: false },
  'tests-only': { type: 'boolean', default: false },
  grep: { type: 'string', short: 'g' },
  // Tests wait about half of their time: for timers, and for processes to start.
  jobs: { type: 'string', default: String(Math.min(8, 2 * os.availableParallelism())) },
  // Longer than the longest limit of one test.
  silence: { type: 'string', default: '900' },
} as const;

/** @throws Error where there is no such lane */
function laneOf(name: string): Lane {
  const lane = LANES.find((each) => each === name);
  if (lane !== undefined) return lane;
  throw new Error(`--lane takes one of ${LANES.join(', ')}, not "${name}".`);
}

/** Files to run; their tests read from the environment which of them are. */
function select(places: readonly string[], lane: Lane): string[] {
  process.env[LANE_VARIABLE] = lane;
  return places.length > 0 ? namedFiles(places) : everyFile(lane);
}

/** @throws Error where an option is no positive integer: with no process no test would run, and all would seem to be in order */
function counted(option: string, value: string): number {
  if (/^[1-9]\d*$/.test(value)) return Number(value);
  throw new Error(`--${option} takes a positive integer, not "${value}".`);
}

/** What runs is ended, with the processes that tests leave. */
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
