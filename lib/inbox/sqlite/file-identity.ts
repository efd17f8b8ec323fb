import fs from 'node:fs';

/** What of an open database no longer has its name: `log` where the file still has it. */
export type Nameless = 'file' | 'log';

/** What was just done stands in what the end of the process would remove, or what no start would find: it is not committed. */
export class NamelessError extends Error {
  constructor(what: Nameless) {
    super(`its ${what} was removed or renamed while it was open; it is written anew from what is open`);
  }
}

interface Held {
  name: string;
  handle: number;
}

/**
 * Whether the file and the log of an open database are still what stands under their names. Each is held open here, too, so
 * that its inode cannot become that of another file, and that a network file system which makes inodes up goes on with the same
 * one. Their folder needs no look of its own: it is on the way to both.
 *
 * To be closed after the database: closing any descriptor of a file ends the locks of the process on it
 * (https://sqlite.org/howtocorrupt.html, section 2.2).
 */
export class FileIdentity {
  readonly #file: Held | undefined;
  readonly #log: Held | undefined;
  /** False where the file system gives two answers to one question: then nothing can be said later. */
  readonly canTell: boolean;

  /** @param file of a database that is open */
  constructor(file: string) {
    this.#file = hold(file);
    this.#log = hold(`${file}-wal`);
    this.canTell = !hasLostName(this.#file) && !hasLostName(this.#log);
  }

  /** Undefined where all is where it was. */
  nameless(): Nameless | undefined {
    if (!this.canTell) return undefined;
    if (hasLostName(this.#file)) return 'file';
    return this.hasLog ? undefined : 'log';
  }

  /** True where the log that stands beside the name of the file is the one of what is open. */
  get hasLog(): boolean {
    return !hasLostName(this.#log);
  }

  close(): void {
    for (const each of [this.#file, this.#log]) if (each !== undefined) fs.closeSync(each.handle);
  }
}

function hold(name: string): Held | undefined {
  try {
    return { name, handle: fs.openSync(name, 'r') };
  } catch {
    // As one that cannot be compared.
    return undefined;
  }
}

/** False where the disk does not answer: that is no other file. */
function hasLostName(held: Held | undefined): boolean {
  if (held === undefined) return true;
  const { name, handle } = held;
  try {
    const open = fs.fstatSync(handle, { bigint: true });
    const named = fs.statSync(name, { bigint: true, throwIfNoEntry: false });
    return named === undefined || open.nlink === 0n || named.dev !== open.dev || named.ino !== open.ino;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOTDIR';
  }
}
