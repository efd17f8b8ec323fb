import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from '../test/support/node-red/node-red';

/** Of the package and all that it needs. */
export interface InstalledSize {
  /** On the disk, in MiB, as `du` counts: files and folders in whole blocks. */
  onDisk: number;
  /** The sum of the files, in megabytes. */
  files: number;
}

/** The most that it may take on the disk, in MiB. */
export const MOST_ON_DISK = 36;

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

/** @param folder the `node_modules` into which it was installed */
export function sizeOf(folder: string): InstalledSize {
  const kibibytes = Number.parseInt(execFileSync('du', ['-sk', folder], { encoding: 'utf8' }), 10);
  const bytes = fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + fs.statSync(path.join(parentPath, name)).size, 0);
  return { onDisk: kibibytes / 1024, files: bytes / 1e6 };
}
