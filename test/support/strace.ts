import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Why faults of the disk cannot be injected here; undefined where they can. */
export function straceMissing(): string | undefined {
  const { error, status } = spawnSync('strace', ['-o', '/dev/null', 'true']);
  if (error !== undefined) return 'strace is not installed';
  return status === 0 ? undefined : 'ptrace is not allowed';
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
      ['-f', '-o', '/dev/null', ...only, '-e', `inject=${inject}`, '-p', String(pid)],
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
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGINT');
    await once(this.child, 'exit');
  }
}
