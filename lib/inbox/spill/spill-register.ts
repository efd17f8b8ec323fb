import fs from 'node:fs';
import path from 'node:path';
import { ensurePrivateFolder } from '../../files';

/** Its file, beside that of the inbox. */
export const SPILL_REGISTER = 'spill-folders.json';

/** Names the folders in which messages may wait: a folder that is set otherwise now is not forgotten. */
export class SpillRegister {
  constructor(private readonly file: string) {}

  read(): string[] {
    try {
      const value: unknown = JSON.parse(fs.readFileSync(this.file, 'utf8'));
      return Array.isArray(value) ? value.filter((folder) => typeof folder === 'string') : [];
    } catch {
      return [];
    }
  }

  /** Best effort: it lies beside the store, whose disk may be the one that fails. */
  write(folders: readonly string[]): void {
    try {
      ensurePrivateFolder(path.dirname(this.file));
      fs.writeFileSync(this.file, `${JSON.stringify(folders)}\n`, { mode: 0o600 });
    } catch {
      // Then only a change of the setting before the next start would hide what is spilled.
    }
  }
}
