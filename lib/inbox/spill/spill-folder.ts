import { randomBytes } from 'node:crypto';
import syncFs from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { ensurePrivateFolder } from '../../files';
import { type FolderLock, LOCK_FILE, lockFolder } from '../sqlite/database';
import { type Frame, type FramePlace, readSegment, type Segment, segmentNames } from './spill-file';

/** The file of the register, beside that of the inbox. */
export const SPILL_REGISTER = 'spill-folders.json';

/** Names the folders in which messages may wait: a folder that is set otherwise now is not forgotten. */
export class SpillRegister {
  constructor(private readonly file: string) {}

  read(): string[] {
    try {
      const value: unknown = JSON.parse(syncFs.readFileSync(this.file, 'utf8'));
      return Array.isArray(value) ? value.filter((folder) => typeof folder === 'string') : [];
    } catch {
      return [];
    }
  }

  /** Best effort: it lies beside the store, whose disk may be the one that fails. */
  write(folders: readonly string[]): void {
    try {
      ensurePrivateFolder(path.dirname(this.file));
      syncFs.writeFileSync(this.file, `${JSON.stringify(folders)}\n`, { mode: 0o600 });
    } catch {
      // Then only a change of the setting before the next start would hide what is spilled.
    }
  }
}

/** A folder of a process in the spill folder: `<number>-<pid>-<random>`. */
const OF_PROCESS = /^(\d+)-\d+-[\da-f]{12}$/;

interface Taken {
  folder: string;
  lock: FolderLock | undefined;
}

/** What was read in a file of frames. */
export interface ReadSegment {
  /** Of its folder: grows from folder to folder. */
  number: number;
  segment: Segment;
  frames: (FramePlace & { frame: Frame })[];
}

/**
 * A spill folder. Each process writes in a folder of its own in it, under a lock, so that no other reads what it may still
 * deliver; the folder of one that has ended is anybody's.
 */
export class SpillFolder {
  /** That this process writes in, where it has any. */
  #own: Taken | undefined;
  /** Of others, and this one's: everything in them is this process's. */
  readonly #taken = new Map<string, Taken>();
  #isShared = false;

  constructor(readonly folder: string) {}

  /** True where the last look did not get everything: processes that live have folders there, or one could not be read. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** The folder to write in. @throws Error where it cannot be made */
  async own(): Promise<string> {
    if (this.#own !== undefined && !syncFs.existsSync(this.#own.folder)) this.#forgetOwn(this.#own);
    this.#own ??= this.#take(this.#make(await this.#nextNumber()));
    return this.#own.folder;
  }

  /** Takes what ended processes have left, and reads it, oldest first. What cannot be read now is left for the next look. */
  async take(): Promise<ReadSegment[]> {
    const folders = await this.#leftFolders();
    this.#isShared = false;
    const found: ReadSegment[] = [];
    for (const folder of folders) found.push(...(await this.#read(this.#lock(folder))));
    return found;
  }

  /**
   * Removes the folders in which nothing is left; the one to write in, too.
   * @param isInUse true while a file in that may be begun
   */
  async tidy(isInUse: () => boolean): Promise<void> {
    for (const taken of this.#taken.values()) {
      const left = await segmentNames(taken.folder).catch(() => undefined);
      if (left === undefined || left.length > 0) continue;
      if (taken === this.#own && isInUse()) continue;
      if (!this.#taken.delete(taken.folder)) continue;
      if (taken === this.#own) this.#own = undefined;
      taken.lock?.release();
      await fs.unlink(path.join(taken.folder, LOCK_FILE)).catch(() => undefined);
      await fs.rmdir(taken.folder).catch(() => undefined);
    }
  }

  /** What is there, stays: for the next process. */
  release(): void {
    for (const { lock } of this.#taken.values()) lock?.release();
    this.#taken.clear();
    this.#own = undefined;
  }

  /** The clock, for it counts in all spill folders; but it may have been put back since the last folder was made. */
  async #nextNumber(): Promise<number> {
    const names = await this.#names();
    return Math.max(Date.now(), ...names.map((name) => processNumberOf(name) + 1));
  }

  #make(number: number): Taken {
    const name = `${number}-${process.pid}-${randomBytes(6).toString('hex')}`;
    const folder = path.join(this.folder, name);
    ensurePrivateFolder(folder);
    const taken = this.#lock(folder);
    // Somebody who looks for what is left has seen it first, and removes it.
    return taken ?? this.#make(number);
  }

  /** It was removed or renamed. */
  #forgetOwn({ folder, lock }: Taken): void {
    lock?.release();
    this.#taken.delete(folder);
    this.#own = undefined;
  }

  #take(taken: Taken): Taken {
    this.#taken.set(taken.folder, taken);
    return taken;
  }

  /** Undefined where its process lives, or another has removed it. A file system without locks has no second process to fear, as far as anybody can tell. */
  #lock(folder: string): Taken | undefined {
    try {
      const lock = lockFolder(folder);
      return lock && { folder, lock };
    } catch {
      return syncFs.existsSync(folder) ? { folder, lock: undefined } : undefined;
    }
  }

  /** Of the folders of all processes, oldest first. */
  async #names(): Promise<string[]> {
    const names = await fs.readdir(this.folder).catch(() => []);
    return names
      .filter((name) => OF_PROCESS.test(name))
      .sort((one, other) => processNumberOf(one) - processNumberOf(other));
  }

  async #leftFolders(): Promise<string[]> {
    const folders = (await this.#names()).map((name) => path.join(this.folder, name));
    return folders.filter((folder) => !this.#taken.has(folder));
  }

  /** It is this process's once it is read, and not before. @param taken undefined where another process has it */
  async #read(taken: Taken | undefined): Promise<ReadSegment[]> {
    try {
      if (taken !== undefined) {
        const found = await readFolder(taken.folder);
        this.#take(taken);
        return found;
      }
    } catch {
      taken?.lock?.release();
    }
    this.#isShared = true;
    return [];
  }
}

/** Whether messages wait in a spill folder, of whichever process. @throws Error where it cannot be read */
export async function holdsMessages(folder: string): Promise<boolean> {
  if (!syncFs.existsSync(folder)) return false;
  for (const name of await fs.readdir(folder)) {
    if (OF_PROCESS.test(name) && (await segmentNames(path.join(folder, name))).length > 0) return true;
  }
  return false;
}

async function readFolder(folder: string): Promise<ReadSegment[]> {
  const found: ReadSegment[] = [];
  const ofProcess = path.basename(folder);
  for (const name of await segmentNames(folder)) {
    const read = await readSegment(path.join(folder, name), `${ofProcess}-${name}`);
    found.push({ ...read, number: processNumberOf(ofProcess) });
  }
  return found;
}

function processNumberOf(name: string): number {
  return Number(OF_PROCESS.exec(name)?.[1] ?? 0);
}
