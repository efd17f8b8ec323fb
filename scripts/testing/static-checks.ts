import { spawn } from 'node:child_process';
import { ROOT } from '../build';

interface StaticCheck {
  name: string;
  command: string;
  args: string[];
}

export interface CheckResult {
  name: string;
  ok: boolean;
  seconds: number;
  output: string;
}

/** Without the types of the server, which the build checks. */
const CHECKS: StaticCheck[] = [
  { name: 'format', command: 'oxfmt', args: ['--check', '.'] },
  { name: 'types of the editor', command: 'tsc', args: ['-p', 'tsconfig.editor.json'] },
  { name: 'types of the tests', command: 'tsc', args: ['-p', 'test/tsconfig.json'] },
  { name: 'lint', command: 'oxlint', args: ['--type-aware', '--deny-warnings'] },
];

/**
 * Runs the checks one after the other, fastest first, and stops at the first failure.
 * @returns true if all passed
 */
export async function runStaticChecks(
  onResult: (result: CheckResult) => void,
  checks: readonly StaticCheck[] = CHECKS,
): Promise<boolean> {
  for (const check of checks) {
    const result = await run(check);
    onResult(result);
    if (!result.ok) return false;
  }
  return true;
}

function run({ name, command, args }: StaticCheck): Promise<CheckResult> {
  const from = performance.now();
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      shell: process.platform === 'win32',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => (output += piece.toString()));
    const end = (ok: boolean): void =>
      resolve({ name, ok, seconds: (performance.now() - from) / 1000, output });
    child.on('error', (error) => {
      output += error.message;
      end(false);
    });
    child.on('close', (status) => end(status === 0));
  });
}
