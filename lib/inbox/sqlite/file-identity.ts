import fs from 'node:fs';
import path from 'node:path';
import { ensurePrivateFolder } from '../../files';

/** The newest message of an inbox: its sequence, and when it was received, in milliseconds since 1970. */
export interface LastMessage {
  sequence: number;
  received: number;
}

/** Between two writings while messages come, in milliseconds. */
const WRITE_EVERY = 1000;

/**
 * The newest message of an inbox, remembered where no copy of its folder takes it along. One that is behind, after a crash,
 * tells less than it could and nothing that is wrong; so it is written now and then, and not synced.
 */
export class LastSequence {
  #known: LastMessage | undefined;
  #writtenAt = -Infinity;

  constructor(private readonly file: string) {
    this.#known = read(file);
  }

  get known(): LastMessage | undefined {
    return this.#known;
  }

  get isDue(): boolean {
    return performance.now() - this.#writtenAt >= WRITE_EVERY;
  }

  /** @param last as the inbox has it on its disk */
  keep(last: LastMessage): void {
    if (last.sequence === this.#known?.sequence) return;
    this.#known = last;
    this.#writtenAt = performance.now();
    const coming = `${this.file}.new`;
    try {
      ensurePrivateFolder(path.dirname(this.file));
      fs.writeFileSync(coming, `${JSON.stringify(last)}\n`, { mode: 0o600 });
      fs.renameSync(coming, this.file);
    } catch {
      // On a full disk: then an older copy would not be noticed.
    }
  }
}

function read(file: string): LastMessage | undefined {
  try {
    const { sequence, received } = JSON.parse(fs.readFileSync(file, 'utf8')) as LastMessage;
    return Number.isSafeInteger(sequence) && Number.isSafeInteger(received)
      ? { sequence, received }
      : undefined;
  } catch {
    return undefined;
  }
}

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
