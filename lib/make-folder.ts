import fs from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder with all that leads to it, for this user alone. Step by step, because Node.js's own way never ends where
 * the system says of an existing folder that it is not there, as below /proc.
 * @throws Error of the system
 */
export function makeFolder(folder: string): void {
  if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = path.dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another may have made it just now.
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
