import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * Creates a folder and its parents, for this user alone. Step by step, because the recursive option of Node.js never ends where
 * the system reports that an existing folder is missing, as below /proc.
 * @throws Error of the system
 */
export function ensurePrivateFolder(folder: string): void {
  if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = path.dirname(folder);
  if (parent !== folder) ensurePrivateFolder(parent);
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it just now.
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** Bytes of a camera name in a file name, which has 255 at most on most disks. */
const LONGEST_NAME = 120;

/** A safe file name: letters, digits and single dashes of a camera name, and the time to the second. */
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

/** To be changed with each change of the content: files of other versions are ignored. */
const VERSION = 1;
/** Bytes. What is stored of 5,000 cameras, the most, is smaller. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A text file that may be missing at any time, and that an attacker cannot misuse: a damaged file counts as missing. */
export class JsonFile {
  readonly #file: string;
  readonly #owner: string;
  /** The first line of the file as last read or written. */
  #head = '';

  /** @param owner owner of the content: the file of another owner is ignored, whatever its name */
  constructor(file: string, owner: string) {
    this.#file = file;
    this.#owner = owner;
  }

  /** The text; undefined where the file is missing, damaged, too large, of another version or of another owner. */
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
      // The file is a hint: without it all data is requested as usual.
      return undefined;
    }
  }

  /**
   * Replaces the text atomically; does nothing where it is unchanged, or too large to be read again.
   * @throws Error of the system
   */
  async write(text: string): Promise<void> {
    const head = this.#headOf(text);
    const content = `${head}\n${text}`;
    if (head === this.#head || Buffer.byteLength(content) > MAX_BYTES) return;
    ensurePrivateFolder(path.dirname(this.#file));
    const coming = `${this.#file}.new`;
    // A file that a crash has left may have other permissions.
    await rm(coming, { force: true });
    await writeFile(coming, content, { mode: 0o600, flag: 'wx' });
    await rename(coming, this.#file);
    this.#head = head;
  }

  /** Marks the file as in use: files that are not touched for long are removed. */
  async touch(): Promise<void> {
    const now = new Date();
    await utimes(this.#file, now, now).catch(() => undefined);
  }

  #headOf(text: string): string {
    const digest = createHash('sha256').update(`${this.#owner}\n`).update(text).digest('hex');
    return `hints ${VERSION} ${digest}`;
  }
}
