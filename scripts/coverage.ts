/**
 * `npm run coverage`: all tests, and how much of the code they reach, with the limits of `.c8rc.json`; in detail in `coverage/`.
 * Takes longer than `npm run test:nightly`, which it runs, for every process writes down what it has run. Takes the same words.
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
