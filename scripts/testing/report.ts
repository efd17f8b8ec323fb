import { isIn, SHOWN } from '../../test/support/suite/lanes';
import { NOT_RUN } from '../../test/support/suite/programs';
import type { Failure, FileResult } from './test-process';
import { nameOf } from './plan';
import type { CheckResult } from './static-checks';

/** Characters that are shown of the output of a failed file. */
const MOST_OUTPUT = 4000;

/** Characters that are shown of the first line of an error. */
const MOST_IN_SHORT = 300;

/** Number of slowest files that the report lists, so that a lane that becomes slow is noticed. */
const SLOWEST = 5;

/** Without this failure, a run without any test would pass. */
const NONE_RUN = {
  file: 'the run',
  title: 'no test was run',
  error: 'No title matches, or no file has a test.',
};

/** Prints a line for each finished file and check, and all failures at the end, where they stay visible. */
export class Report {
  readonly #begun = performance.now();
  readonly #failures: (Failure & { file: string })[] = [];
  readonly #failedChecks: string[] = [];
  #passed = 0;
  #skipped = 0;

  readonly #seconds: { name: string; seconds: number }[] = [];
  readonly #leftOut = new LeftOut();

  /** @param noSkips all programs that tests need are installed, so a skipped test counts as failed */
  constructor(private readonly noSkips: boolean) {}

  addCheck({ name, ok, seconds, output }: CheckResult): void {
    line(ok, '', seconds, name);
    if (ok) return;
    this.#failedChecks.push(name);
    console.log(output);
  }

  addFile(result: FileResult): void {
    const { file, passed, skipped, seconds, output } = result;
    const failures = this.noSkips ? [...result.failures, ...skipped.map(skippedTest)] : result.failures;
    const name = nameOf(file);
    const skips = this.noSkips ? 0 : skipped.length;
    line(failures.length === 0, counts(passed, failures.length, skips), seconds, name);
    for (const failure of failures) console.log(indented(inShort(failure), '         '));
    if ((failures.length > 0 || isIn(SHOWN, name)) && output !== '')
      console.log(indented(isIn(SHOWN, name) ? output : output.slice(-MOST_OUTPUT), '         | '));
    this.#passed += passed;
    this.#skipped += skips;
    this.#seconds.push({ name, seconds });
    if (!this.noSkips) for (const title of skipped) this.#leftOut.add(title, name);
    this.#failures.push(...failures.map((failure) => ({ ...failure, file: name })));
  }

  /**
   * Prints the end of the report; its last line contains only the counts.
   * @returns true if at least one test was run and none, and no check, has failed
   */
  end(): boolean {
    const wasRun = this.#passed + this.#skipped + this.#failures.length > 0;
    if (!wasRun && this.#failedChecks.length === 0) this.#failures.push(NONE_RUN);
    const failed = this.#failures.length;
    this.#showSlowest();
    this.#leftOut.show();
    const minutes = ((performance.now() - this.#begun) / 60_000).toFixed(1);
    console.log(`\n  ${this.#passed} passing (${minutes} minutes)`);
    if (this.#skipped > 0) console.log(`  ${this.#skipped} pending`);
    if (failed > 0) console.log(`  ${failed} failing`);
    for (const [index, { file, title, error }] of this.#failures.entries())
      console.log(`\n  ${index + 1}) ${file}: ${title}\n${indented(error, '     ')}`);

    const all = failed === 0 ? this.#failedChecks : [...this.#failedChecks, 'tests'];
    console.log(all.length === 0 ? '\nAll checks passed.' : `\nFailed: ${all.join(', ')}.`);
    console.log(counts(this.#passed, failed, this.#skipped, 'always'));
    return all.length === 0;
  }

  #showSlowest(): void {
    const slowest = this.#seconds.toSorted((one, other) => other.seconds - one.seconds).slice(0, SLOWEST);
    if (slowest.length < SLOWEST) return;
    console.log(`\nThe ${SLOWEST} slowest files:`);
    for (const { name, seconds } of slowest) console.log(inTime(seconds, name));
  }
}

/** Skipped tests, by the requirement that this machine lacks. */
class LeftOut {
  readonly #byReason = new Map<string, { count: number; subjects: Set<string> }>();

  /** @param file the name of its folder in test/ is the subject of the test */
  add(title: string, file: string): void {
    const reasons = NOT_RUN.exec(title)?.[1]?.split(', ') ?? ['Skipped'];
    for (const reason of reasons) {
      const of = this.#byReason.get(reason) ?? { count: 0, subjects: new Set() };
      of.count += 1;
      of.subjects.add(file.split('/')[1] ?? file);
      this.#byReason.set(reason, of);
    }
  }

  show(): void {
    if (this.#byReason.size > 0) console.log('');
    for (const [reason, { count, subjects }] of this.#byReason)
      console.log(
        `${reason}: ${count === 1 ? '1 test' : `${count} tests`} of ${[...subjects].sort().join(', ')} left out`,
      );
  }
}

/** One failure in two lines, for the progress of the run. */
function inShort({ title, error }: Failure): string {
  return `${title}\n  ${error.split('\n', 1)[0]?.slice(0, MOST_IN_SHORT)}`;
}

function skippedTest(title: string): Failure {
  return {
    title,
    error: 'It was skipped, which counts as a failure here: .ci/run installs what tests need.',
  };
}

function line(ok: boolean, count: string, seconds: number, name: string): void {
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${inTime(seconds, name)}${count === '' ? '' : `: ${count}`}`);
}

function inTime(seconds: number, name: string): string {
  return `${`${seconds.toFixed(1)} s`.padStart(8)}  ${name}`;
}

function counts(passed: number, failed: number, skipped: number, zero: 'always' | 'never' = 'never'): string {
  const failures = failed > 0 || zero === 'always' ? `, ${failed} failed` : '';
  return `${passed} passed${failures}${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

function indented(text: string, by: string): string {
  return text.trimEnd().replaceAll(/^/gm, by);
}
