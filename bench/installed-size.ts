import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from '../test/support/node-red/node-red';

/** Of the package and all that it needs, in bytes. */
export interface InstalledSize {
  files: number;
  /** What they take, in whole blocks of the file system. */
  blocks: number;
}

/** The package is installed from its tarball, as the palette does. */
export function installedSize(): InstalledSize {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-bench-'));
  try {
    // dist/ is built already.
    npm(ROOT, 'pack', '--ignore-scripts', '--pack-destination', folder);
    const tarball = fs.readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
    fs.writeFileSync(path.join(folder, 'package.json'), '{"name":"bench","private":true}');
    npm(folder, 'install', '--omit=dev', '--ignore-scripts', '--prefer-offline', `./${tarball}`);
    return sizeOf(path.join(folder, 'node_modules'));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** Prints nothing: where packages come from is nobody's business. */
function npm(cwd: string, ...args: string[]): void {
  const { status } = spawnSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=silent'], {
    cwd,
    stdio: 'ignore',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`npm ${args[0]} has failed: it may need the network`);
}

function sizeOf(folder: string): InstalledSize {
  const stats = fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => fs.statSync(path.join(parentPath, name)));
  const sum = (of: (stat: fs.Stats) => number): number => stats.reduce((total, stat) => total + of(stat), 0);
  return { files: sum(({ size }) => size), blocks: sum(({ blocks }) => blocks * 512) };
}
