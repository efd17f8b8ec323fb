import { isIn, SHOWN } from '../../test/support/suite/lanes';
import type { Failure } from './news';
import { nameOf } from './plan';
import type { CheckResult } from './static-checks';
import type { FileResult } from './test-process';

/** Of what a file that failed has printed. */
const MOST_OUTPUT = 4000;

/** Of the first line of an error. */
const MOST_IN_SHORT = 300;

/** A run that looks at nothing would say that everything is in order. */
const NONE_RUN = {
  file: 'the run',
  title: 'no test was run',
  error: 'No title matches, or no file has a test.',
};

/** Tells of each file and check in a line as it ends, and at the end of every failure, so that none is scrolled away. */
export class Report {
  readonly #begun = performance.now();
  readonly #failures: (Failure & { file: string })[] = [];
  readonly #failedChecks: string[] = [];
  #passed = 0;
  #skipped = 0;

  /** @param inCi every program that a test needs is there, and a test that is skipped has failed */
  constructor(private readonly inCi: boolean) {}

  addCheck({ name, ok, seconds, output }: CheckResult): void {
    line(ok, '', seconds, name);
    if (ok) return;
    this.#failedChecks.push(name);
    console.log(output);
  }

  addFile(result: FileResult): void {
    const { file, passed, skipped, seconds, output } = result;
    const failures = this.inCi ? [...result.failures, ...skipped.map(skippedInCi)] : result.failures;
    const name = nameOf(file);
    const skips = this.inCi ? 0 : skipped.length;
    line(failures.length === 0, counts(passed, failures.length, skips), seconds, name);
    for (const failure of failures) console.log(indented(inShort(failure), '         '));
    if (!this.inCi) for (const title of skipped) console.log(`         skipped: ${title}`);
    if ((failures.length > 0 || isIn(SHOWN, name)) && output !== '')
      console.log(indented(output.slice(-MOST_OUTPUT), '         | '));
    this.#passed += passed;
    this.#skipped += skips;
    this.#failures.push(...failures.map((failure) => ({ ...failure, file: name })));
  }

  /** The last line is the count alone. True where everything is in order, and at least one test was run. */
  end(): boolean {
    if (this.#passed + this.#skipped + this.#failures.length === 0) this.#failures.push(NONE_RUN);
    const failed = this.#failures.length;
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
}

/** Whoever sees but the line of a file knows what to look for. */
function inShort({ title, error }: Failure): string {
  return `${title}\n  ${error.split('\n', 1)[0]?.slice(0, MOST_IN_SHORT)}`;
}

function skippedInCi(title: string): Failure {
  return {
    title,
    error: 'It was skipped, which counts as a failure in CI: .ci/run installs what tests need.',
  };
}

function line(ok: boolean, count: string, seconds: number, name: string): void {
  const time = `${seconds.toFixed(1)} s`.padStart(8);
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${time}  ${name}${count === '' ? '' : `: ${count}`}`);
}

function counts(passed: number, failed: number, skipped: number, zero: 'always' | 'never' = 'never'): string {
  const failures = failed > 0 || zero === 'always' ? `, ${failed} failed` : '';
  return `${passed} passed${failures}${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

function indented(text: string, by: string): string {
  return text.trimEnd().replaceAll(/^/gm, by);
}
