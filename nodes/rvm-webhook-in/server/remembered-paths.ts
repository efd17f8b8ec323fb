import fs from 'node:fs';
import path from 'node:path';
import type { NodeAPI } from 'node-red';
import { makeFolder } from '../../../lib/files';
import { ownFolder } from '../../support/settings';

/**
 * The webhook paths of the last run. Between the start of Node-RED and the building of its nodes no path is known yet;
 * those of the last run are held there instead of being answered 404, so that no alarm is turned away.
 */
export class RememberedPaths {
  #last = '';

  constructor(private readonly RED: NodeAPI) {}

  read(): string[] {
    try {
      const value: unknown = JSON.parse(fs.readFileSync(this.#file(), 'utf8'));
      return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
    } catch {
      // Absent at the first start; unreadable means only that the start window is not covered.
      return [];
    }
  }

  write(paths: readonly string[]): void {
    const text = `${JSON.stringify([...paths].sort())}\n`;
    if (text === this.#last) return;
    this.#last = text;
    try {
      const file = this.#file();
      makeFolder(path.dirname(file));
      fs.writeFileSync(`${file}.new`, text, { mode: 0o600 });
      fs.renameSync(`${file}.new`, file);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
      this.RED.log.warn(this.RED._('rvm-webhook-in.log.pathsNotWritten', { code }));
    }
  }

  #file(): string {
    return path.join(ownFolder(this.RED), 'webhook-paths.json');
  }
}
