/**
 * `npm run coverage`: runs the tests of `npm run test:nightly` and measures code coverage, with the limits of `.c8rc.json`; the
 * details are in `coverage/`. Slower than the tests alone, because every process records its coverage. Takes the same
 * arguments.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { build, ROOT } from './build';

build();
const tests = [
  process.execPath,
  '--import=tsx',
  path.join('scripts', 'test.ts'),
  '--tests-only',
  '--lane',
  'nightly',
];
const { status } = spawnSync('c8', [...tests, ...process.argv.slice(2)], {
  cwd: ROOT,
  shell: process.platform === 'win32',
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
