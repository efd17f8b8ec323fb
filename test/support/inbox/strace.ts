import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import { endProcess } from '../network/servers';
import { cannotRun, needs } from '../suite/programs';

/** Skips what needs strace where that cannot be had. */
export function needsStrace(hook: Mocha.Context): void {
  needs(hook, 'strace');
  const { status } = spawnSync('strace', ['-o', os.devNull, 'true']);
  if (status !== 0 || !mayAttach()) cannotRun(hook, 'ptrace is not allowed');
}

/** Some systems let a user trace only what the tracer itself has started. */
function mayAttach(): boolean {
  try {
    const scope = fs.readFileSync('/proc/sys/kernel/yama/ptrace_scope', 'utf8');
    return Number(scope) === 0 || process.getuid?.() === 0;
  } catch {
    return true;
  }
}

/** Makes system calls of a running process fail, or last, for as long as it is attached. */
export class Strace {
  private constructor(private readonly child: ChildProcess) {}

  /**
   * @param inject as in `--inject`, such as `fsync:error=EIO:when=1`; `when` counts for each thread by itself
   * @param paths calls on other files are left alone
   */
  static async attach(pid: number, inject: string, paths: readonly string[]): Promise<Strace> {
    const only = paths.flatMap((path) => ['-P', path]);
    const child = spawn(
      'strace',
      ['-f', '-o', os.devNull, ...only, '-e', `inject=${inject}`, '-p', String(pid)],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let said = '';
    child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
    while (!said.includes(' attached')) {
      await Promise.race([once(child.stderr, 'data'), once(child, 'exit')]);
      assert.equal(child.exitCode, null, `strace could not attach: ${said}`);
    }
    return new Strace(child);
  }

  async detach(): Promise<void> {
    await endProcess(this.child, 'SIGINT');
  }
}
