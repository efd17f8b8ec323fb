/**
 * Every check of the project, one after the other; each runs even if an earlier one failed, so that one run shows all.
 * The last line counts the tests: "N passed, N failed".
 */
import { spawn } from 'node:child_process';
import { build, ROOT } from './build';

interface Check {
  name: string;
  command: string;
  args: string[];
}

const CHECKS: Check[] = [
  { name: 'types of the editor', command: 'tsc', args: ['-p', 'tsconfig.editor.json'] },
  { name: 'types of the tests', command: 'tsc', args: ['-p', 'test/tsconfig.json'] },
  { name: 'lint', command: 'oxlint', args: ['--type-aware', '--deny-warnings'] },
  { name: 'format', command: 'prettier', args: ['--check', '.'] },
];

function run(check: Check): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(check.command, check.args, {
      cwd: ROOT,
      shell: process.platform === 'win32',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (piece: Buffer) => {
      output += piece.toString();
      process.stdout.write(piece);
    });
    child.on('error', (error) => resolve({ ok: false, output: `${check.command}: ${error.message}` }));
    child.on('close', (status) => resolve({ ok: status === 0, output }));
  });
}

function count(output: string, word: string): number {
  return Number(new RegExp(`^\\s*(\\d+) ${word}\\b`, 'm').exec(output)?.[1] ?? 0);
}

async function main(): Promise<void> {
  console.log('— types of the server, build');
  build();

  const failed: string[] = [];
  for (const check of CHECKS) {
    console.log(`— ${check.name}`);
    if (!(await run(check)).ok) failed.push(check.name);
  }

  console.log('— tests');
  const files = process.argv.length > 2 ? process.argv.slice(2) : ['test/**/*.test.ts'];
  const tests = await run({ name: 'tests', command: 'c8', args: ['mocha', ...files] });
  const failures = count(tests.output, 'failing');
  if (!tests.ok) failed.push('tests');

  console.log(failed.length === 0 ? 'All checks passed.' : `Failed: ${failed.join(', ')}.`);
  const skipped = count(tests.output, 'pending');
  console.log(
    `${count(tests.output, 'passing')} passed, ${failures} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
  );
  if (failed.length > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
});
