import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const CLI = path.join(__dirname, '../../../lib/inbox/program/cli.ts');

/** How a run of `rvm-inbox` ended. The code is null where it was killed. */
export interface ProgramRun {
  code: number | null;
  out: string;
  error: string;
}

/** Runs `rvm-inbox` in a process of its own. @param started told of the process */
export async function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  started: (child: ChildProcess) => void = () => undefined,
): Promise<ProgramRun> {
  const child = spawn(process.execPath, ['--import=tsx', CLI, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  started(child);
  const run: ProgramRun = { code: null, out: '', error: '' };
  child.stdout.on('data', (piece: Buffer) => (run.out += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (run.error += piece.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { ...run, code };
}
