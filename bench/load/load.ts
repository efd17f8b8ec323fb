import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Flood, FloodReport, Order, Pace, PaceReport, Preparation } from './orders';

/** The load generator as the benchmark sees it. */
export class Load {
  readonly #child: ChildProcess = fork(path.join(__dirname, 'generator.ts'), {
    execArgv: ['--import=tsx'],
    serialization: 'advanced',
  });

  async prepare(preparation: Preparation): Promise<void> {
    await this.#order(preparation);
  }

  /** @throws AssertionError where a message was refused */
  async flood(flood: Flood): Promise<FloodReport> {
    return noneRefused((await this.#order(flood)) as FloodReport);
  }

  /** @throws AssertionError where a message was refused */
  async pace(pace: Pace): Promise<PaceReport> {
    return noneRefused((await this.#order(pace)) as PaceReport);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill();
    await once(this.#child, 'exit');
  }

  async #order(order: Order): Promise<unknown> {
    this.#child.send(order);
    // Leaves no listener behind, however many orders there are.
    const over = new AbortController();
    const { signal } = over;
    const ended = once(this.#child, 'exit', { signal }).then(() => [
      { error: 'the load generator has ended' },
    ]);
    const answered = once(this.#child, 'message', { signal });
    const [answer] = (await Promise.race([answered, ended])) as [{ report?: unknown; error?: string }];
    over.abort();
    assert.equal(answer.error, undefined);
    return answer.report;
  }
}

/** Only what was taken was fast. */
function noneRefused<Report extends FloodReport | PaceReport>(report: Report): Report {
  assert.deepEqual(report.refused, {});
  return report;
}
