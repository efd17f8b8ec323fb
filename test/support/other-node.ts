import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './node-red';

/**
 * A Node binary of another version, from the npm packages that carry them; kept in a folder that git ignores.
 * Undefined where it cannot be had: the test is then skipped and says so.
 */
export function otherNode(version: string): string | undefined {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const folder = path.join(ROOT, '.node', version);
  const binary = path.join(
    folder,
    'node_modules',
    name,
    'bin',
    process.platform === 'win32' ? 'node.exe' : 'node',
  );
  if (fs.existsSync(binary)) return binary;
  fs.mkdirSync(folder, { recursive: true });
  const args = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--no-package-lock',
    '--ignore-scripts',
    '--no-audit',
  ];
  spawnSync('npm', [...args, `${name}@${version}`], { stdio: 'ignore', shell: process.platform === 'win32' });
  return fs.existsSync(binary) ? binary : undefined;
}
