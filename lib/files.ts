import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * Makes a folder with all that leads to it, for this user alone. Step by step, because Node.js's own way never ends where
 * the system says of an existing folder that it is not there, as below /proc.
 * @throws Error of the system
 */
export function ensurePrivateFolder(folder: string): void {
  if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = path.dirname(folder);
  if (parent !== folder) ensurePrivateFolder(parent);
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another may have made it just now.
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** Bytes of a name in a file name, which has 255 at most on most disks. */
const LONGEST_NAME = 120;

/** Letters, digits and single dashes of the name of a camera, and the time to the second: safe as the name of a file. */
export function fileNameOf(name: string, time: Date, extension: string): string {
  let safe = '';
  const words = name.slice(0, LONGEST_NAME).normalize('NFC');
  for (const part of words.split(/[^\p{L}\p{N}]+/u)) {
    const longer = safe === '' ? part : `${safe}-${part}`;
    if (part !== '' && Buffer.byteLength(longer) <= LONGEST_NAME) safe = longer;
  }
  const stamp = time.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `${safe === '' ? 'camera' : safe}-${stamp}.${extension}`;
}

/** Another one with each change of what is written: files of other versions are passed over. */
const VERSION = 1;
/** Bytes. What is known of 100,000 cameras, the most that are listed, is less. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A text on the disk that may be missing at any time, and that nobody can do harm with: what is damaged is no text at all. */
export class HintFile {
  readonly #file: string;
  readonly #owner: string;
  /** The first line of the file as it was last read or written. */
  #head = '';

  /** @param owner whose it is: the file of another one is passed over, whatever its name */
  constructor(file: string, owner: string) {
    this.#file = file;
    this.#owner = owner;
  }

  /** The text, or undefined where it cannot be had: none yet, damaged, too large, of another version or another owner. */
  async read(): Promise<string | undefined> {
    try {
      if ((await stat(this.#file)).size > MAX_BYTES) return undefined;
      const content = await readFile(this.#file, 'utf8');
      const end = content.indexOf('\n');
      const text = content.slice(end + 1);
      const head = this.#headOf(text);
      if (content.slice(0, end) !== head) return undefined;
      this.#head = head;
      return text;
    } catch {
      // It is a hint: without it all is asked for, as ever.
      return undefined;
    }
  }

  /**
   * Puts a text in the place of the former one, in one go; does nothing where it is the same, or too large to be read again.
   * @throws Error of the system
   */
  async write(text: string): Promise<void> {
    const head = this.#headOf(text);
    const content = `${head}\n${text}`;
    if (head === this.#head || Buffer.byteLength(content) > MAX_BYTES) return;
    ensurePrivateFolder(path.dirname(this.#file));
    const coming = `${this.#file}.new`;
    // One that a crash has left behind may have other rights.
    await rm(coming, { force: true });
    await writeFile(coming, content, { mode: 0o600, flag: 'wx' });
    await rename(coming, this.#file);
    this.#head = head;
  }

  /** Shows that it is in use: those that nobody has touched for long are removed. */
  async touch(): Promise<void> {
    const now = new Date();
    await utimes(this.#file, now, now).catch(() => undefined);
  }

  #headOf(text: string): string {
    const digest = createHash('sha256').update(`${this.#owner}\n`).update(text).digest('hex');
    return `hints ${VERSION} ${digest}`;
  }
}
