import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { IDENTITY } from './postgres-server';

/** Files for a PostgreSQL, which may be of another user than the tests. */
export class ServerFiles {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'postgres-files-'));

  constructor() {
    chmodSync(this.#folder, 0o755);
  }

  /** @returns the file, in quotes as postgresql.conf has it */
  save(name: string, text: string): string {
    const file = path.join(this.#folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    if (IDENTITY.uid !== undefined) chownSync(file, IDENTITY.uid, IDENTITY.gid);
    return `'${file}'`;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
