import fs from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../make-folder';
import { SpillFile } from './spill-file';
import type { NewMessage } from '../store/protocol';

export interface SpillingOptions {
  folder: string;
  /** File that names the folders in which messages may wait: a folder that is set otherwise now is not forgotten. */
  register: string;
  /** Stores a message that is read back. False where it is refused by a store that works. */
  store: (message: NewMessage) => Promise<boolean>;
  /** Told of a file that holds what could not be read or stored, and stays. */
  onLeft: (file: string) => void;
}

/** Messages stored together. */
const BATCH = 100;

/** Where messages go that the store cannot take, and how they come back. */
export class Spilling {
  readonly #folders = new Map<string, SpillFile>();
  #current: SpillFile;
  #mayHold = true;
  #readingBack: Promise<number> | undefined;

  constructor(private readonly options: SpillingOptions) {
    for (const folder of foldersIn(options.register)) this.#add(folder);
    this.#current = this.#add(options.folder);
  }

  /** True where messages may wait: what arrives must not overtake them. */
  get mayHold(): boolean {
    return this.#mayHold || this.#readingBack !== undefined;
  }

  /** From now on messages are spilled there. */
  moveTo(folder: string): void {
    if (folder === this.#current.folder) return;
    this.#current = this.#add(folder);
    this.#mayHold = true;
    this.#writeRegister();
  }

  /** What is wrong with the folder, before it is needed: undefined where it can be written. */
  check(): string | undefined {
    const { folder } = this.#current;
    const probe = path.join(folder, 'probe');
    try {
      makeFolder(folder);
      fs.writeFileSync(probe, '');
      fs.unlinkSync(probe);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : 'unknown fault';
    }
  }

  get folder(): string {
    return this.#current.folder;
  }

  /** Resolves when the message is on the disk. @throws Error where it cannot be written */
  async append(message: NewMessage): Promise<void> {
    if (!this.#mayHold) this.#writeRegister();
    this.#mayHold = true;
    await this.#current.append(message);
  }

  /**
   * Stores everything that was spilled, in order; asked again meanwhile, it is the same work.
   * @returns how many messages were stored
   * @throws what `store` throws; what was not stored stays
   */
  readBack(): Promise<number> {
    this.#readingBack ??= this.#readAll().finally(() => {
      this.#readingBack = undefined;
    });
    return this.#readingBack;
  }

  async close(): Promise<void> {
    await this.#readingBack?.catch(() => undefined);
    for (const file of this.#folders.values()) await file.close();
  }

  #add(folder: string): SpillFile {
    const known = this.#folders.get(folder) ?? new SpillFile(folder);
    this.#folders.set(folder, known);
    return known;
  }

  async #readAll(): Promise<number> {
    let count = 0;
    this.#mayHold = false;
    try {
      for (const [folder, file] of this.#folders) {
        for (const left of await file.readBack(async (messages) => {
          const stored = await this.#storeAll(messages);
          count += stored;
          return stored === messages.length;
        }))
          this.options.onLeft(left);
        if (file !== this.#current) this.#folders.delete(folder);
      }
      this.#writeRegister();
      return count;
    } catch (error) {
      this.#mayHold = true;
      throw error;
    }
  }

  async #storeAll(messages: readonly NewMessage[]): Promise<number> {
    let count = 0;
    for (let at = 0; at < messages.length; at += BATCH) {
      const stored = await Promise.all(
        messages.slice(at, at + BATCH).map((each) => this.options.store(each)),
      );
      count += stored.filter(Boolean).length;
    }
    return count;
  }

  /** Best effort: it lies beside the store, whose disk may be the one that fails. */
  #writeRegister(): void {
    try {
      makeFolder(path.dirname(this.options.register));
      fs.writeFileSync(this.options.register, `${JSON.stringify([...this.#folders.keys()])}\n`, {
        mode: 0o600,
      });
    } catch {
      // Then only a change of the setting before the next start would hide what is spilled.
    }
  }
}

function foldersIn(register: string): string[] {
  try {
    const value: unknown = JSON.parse(fs.readFileSync(register, 'utf8'));
    return Array.isArray(value) ? value.filter((folder) => typeof folder === 'string') : [];
  } catch {
    return [];
  }
}
