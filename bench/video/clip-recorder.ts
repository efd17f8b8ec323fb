import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** What one clip took. */
export interface ClipReport {
  /** CPU time of the process, in the user's code and in the system's. */
  cpuMs: number;
  /** Of the clip. */
  bytes: number;
  frames: number;
  /** Resident memory before it, with no garbage, and the most there was meanwhile, in bytes. */
  idle: number;
  peak: number;
}

/** A process of its own that records clips into files. */
export class ClipRecorder {
  readonly #child: ChildProcess = fork(path.join(__dirname, 'clip-driver.js'), { execArgv: [] });

  /** The next clip, of so many seconds of the time of this machine. */
  async record(url: string, seconds: number): Promise<ClipReport> {
    this.#child.send({ url, seconds });
    const [report] = (await once(this.#child, 'message')) as [ClipReport & { error?: string }];
    assert.equal(report.error, undefined);
    return report;
  }

  async stop(): Promise<void> {
    this.#child.kill();
    await once(this.#child, 'exit');
  }
}
