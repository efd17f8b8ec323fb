import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../../make-folder';

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
      if ((await fs.stat(this.#file)).size > MAX_BYTES) return undefined;
      const content = await fs.readFile(this.#file, 'utf8');
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
    makeFolder(path.dirname(this.#file));
    const coming = `${this.#file}.new`;
    // One that a crash has left behind may have other rights.
    await fs.rm(coming, { force: true });
    await fs.writeFile(coming, content, { mode: 0o600, flag: 'wx' });
    await fs.rename(coming, this.#file);
    this.#head = head;
  }

  /** Shows that it is in use: those that nobody has touched for long are removed. */
  async touch(): Promise<void> {
    const now = new Date();
    await fs.utimes(this.#file, now, now).catch(() => undefined);
  }

  #headOf(text: string): string {
    const digest = createHash('sha256').update(`${this.#owner}\n`).update(text).digest('hex');
    return `hints ${VERSION} ${digest}`;
  }
}
