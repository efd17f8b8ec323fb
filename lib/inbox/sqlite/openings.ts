import fs from 'node:fs';
import path from 'node:path';

/** The name of their count beside the file. */
export const OPENINGS = 'inbox.openings';

/** Between the name of a file that was moved into a database and the time of that. */
export const MOVED = '.moved-';

/** True where a file of this name was moved into a database: what is there now is another inbox, and lacks nothing. */
export function wasMoved(file: string): boolean {
  const folder = path.dirname(file);
  const name = `${path.basename(file)}${MOVED}`;
  return fs.existsSync(folder) && fs.readdirSync(folder).some((each) => each.startsWith(name));
}

/**
 * Openings are counted in the file and beside it. Where the file has seen fewer, it is an old copy: what came since the copy
 * was made is not known to it.
 */
export class OpenCounter {
  readonly #file: string;
  /** As counted beside the file. */
  readonly seen: number;
  #count = 0;

  constructor(file: string) {
    this.#file = path.join(path.dirname(file), OPENINGS);
    this.seen = numberIn(this.#file);
  }

  next(inFile: number): number {
    this.#count = Math.max(inFile, this.seen) + 1;
    return this.#count;
  }

  /** Only what the file knows is written beside it: otherwise it would seem older than it is. */
  write(): void {
    try {
      fs.writeFileSync(this.#file, `${this.#count}\n`, { mode: 0o600 });
    } catch {
      // On a full disk: then an older copy would not be noticed.
    }
  }
}

function numberIn(file: string): number {
  try {
    const count = Number(fs.readFileSync(file, 'utf8'));
    return Number.isSafeInteger(count) ? count : 0;
  } catch {
    return 0;
  }
}
