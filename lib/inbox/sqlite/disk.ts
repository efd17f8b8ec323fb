import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { freeOf } from '../file-system';
import type { StoreWarning } from '../store/protocol';

/** Kept free for the moment at which the disk is full, in bytes. */
const RESERVE = 16 * 1024 * 1024;
/** Below this free space the operator is told, and no reserve is made, in bytes. */
const LOW = 256 * 1024 * 1024;

/** Warns long before the disk is full. */
export function checkDisk(folder: string): StoreWarning | undefined {
  const freeBytes = freeOf(folder);
  return freeBytes < LOW ? { kind: 'disk-low', freeBytes } : undefined;
}

/** A file of noise, which no file system can squeeze, given up for the last messages when the disk is full: it buys the time to make room. */
export class Reserve {
  readonly #file: string;

  constructor(private readonly folder: string) {
    this.#file = path.join(folder, 'reserve');
  }

  /** True where there was one. */
  release(): boolean {
    try {
      fs.unlinkSync(this.#file);
      return true;
    } catch {
      return false;
    }
  }

  /** Makes it where it is lacking and the disk has room. */
  keep(): void {
    if (fs.existsSync(this.#file) || freeOf(this.folder) < LOW) return;
    try {
      fs.writeFileSync(this.#file, randomBytes(RESERVE), { mode: 0o600 });
    } catch {
      this.release();
    }
  }
}
