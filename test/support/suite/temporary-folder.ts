import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const made: string[] = [];
process.once('exit', () => {
  for (const folder of made) fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

/** A new folder, which is gone when this process ends, unless that is killed. */
export function temporaryFolder(name = 'test'): string {
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), `rvm-${name}-`));
  made.push(folder);
  return folder;
}
