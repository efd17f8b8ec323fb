import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from './node-red';

/** Made here, and not part of what is checked out. */
const MADE = ['.git', '.node', '.start', 'coverage', 'dist', 'node_modules'];

/**
 * A copy of this checkout in a folder of its own, for scripts that write beside themselves; with the packages that are
 * installed here. `dist` is as it is here, and fresh, or absent. To be removed by the caller.
 */
export function copyCheckout(dist: 'built' | 'absent'): string {
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'rvm-checkout-'));
  const parts = fs.readdirSync(ROOT).filter((name) => !MADE.includes(name) && !name.endsWith('.tgz'));
  for (const part of dist === 'built' ? [...parts, 'dist'] : parts)
    fs.cpSync(path.join(ROOT, part), path.join(folder, part), {
      recursive: true,
      filter: (from) => path.basename(from) !== 'node_modules',
    });
  const packages = path.join(folder, 'node_modules');
  linkPackages(packages);
  // What the scripts leave there once they have installed, or built: nothing is to be installed for a test.
  const lock = fs.readFileSync(path.join(ROOT, 'package-lock.json'));
  fs.writeFileSync(path.join(packages, '.installed'), createHash('sha256').update(lock).digest('hex'));
  if (dist === 'built') fs.writeFileSync(path.join(packages, '.built'), '');
  return folder;
}

function linkPackages(folder: string): void {
  fs.mkdirSync(folder);
  const here = path.join(ROOT, 'node_modules');
  for (const { name } of fs.readdirSync(here, { withFileTypes: true }).filter((entry) => !entry.isFile()))
    fs.symlinkSync(path.join(here, name), path.join(folder, name), 'junction');
}
