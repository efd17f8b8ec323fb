import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ensurePrivateFolder } from '../../files';
import { SPILL_FOLDER } from '../model';
import { type FolderLock, lockFolder, sizeOf, syncFolder } from '../sqlite/database';
import { reasonOf } from '../store/port';

/** The file of the register, beside that of the inbox. */
export const SPILL_REGISTER = 'spill-folders.json';
/** The file of a spare: a store like that of the inbox. */
export const SPARE_FILE = 'inbox.sqlite';
/** A folder of a process in the spill folder: `<number>-<pid>-<random>`. */
const OF_PROCESS = /^(\d+)-\d+-[\da-f]{12}$/;
/** What a salvage has set aside. */
const DAMAGED = '.damaged-';

/** The folders in which messages may wait: a folder that is set otherwise now is not forgotten. */
function registered(file: string): string[] {
  try {
    const value: unknown = JSON.parse(fs.readFileSync(file, 'utf8'));
    return Array.isArray(value) ? value.filter((folder) => typeof folder === 'string') : [];
  } catch {
    return [];
  }
}

/** A folder that this process has: nobody else reads what it may still deliver. */
export interface SparePlace {
  readonly folder: string;
  /** Absent on a file system that has no locks: there is no second process to fear there, as far as anybody can tell. */
  readonly lock: FolderLock | undefined;
}

/** All spill folders that are or were set: where a new spare goes, and where former processes may have left one. */
export class SpareFolders {
  readonly #all: Set<string>;
  readonly #probe = new SpillProbe();
  /** True where the last look did not get everything: processes that live have folders there, or one could not be read. */
  isShared = false;

  /**
   * @param current the one in which new spares are made
   * @param register file that names the folders in which messages may wait
   */
  constructor(
    public current: string,
    private readonly register: string,
  ) {
    this.#all = new Set([...registered(register), current]);
  }

  moveTo(folder: string): void {
    this.current = folder;
    this.#all.add(folder);
    this.#write();
  }

  /** A place for a new spare. @throws Error where it cannot be made for good */
  make(): SparePlace {
    this.#write();
    return makePlace(this.current);
  }

  /** What ended processes have left, oldest first. @param known folders of this process */
  take(known: ReadonlySet<string>): SparePlace[] {
    this.isShared = false;
    const places: SparePlace[] = [];
    for (const base of this.#all) {
      // On a disk that is not there now.
      if (base !== this.current && !fs.existsSync(base)) this.isShared = true;
      try {
        const { left, isShared } = takeLeft(base, known);
        this.isShared ||= isShared;
        places.push(...left);
      } catch {
        this.isShared = true;
      }
    }
    return places.sort((one, other) => numberOf(one.folder) - numberOf(other.folder));
  }

  /** Nothing of this process is in any of them: those that are set no more need not be looked at. */
  forget(): void {
    if (this.isShared) return;
    this.#all.clear();
    this.#all.add(this.current);
    this.#write();
  }

  /** What is wrong with the folder, before it is needed: undefined where it can be written. */
  check(): string | undefined {
    const probe = path.join(this.current, `probe-${process.pid}`);
    try {
      ensurePrivateFolder(this.current);
      fs.writeFileSync(probe, '');
      fs.unlinkSync(probe);
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** Resolves with whether a message could be written there now: tried at most once a second. */
  canWrite(): Promise<boolean> {
    return this.#probe.passes(this.current);
  }

  /** Best effort: the register lies beside the store, whose disk may be the one that fails. */
  #write(): void {
    try {
      ensurePrivateFolder(path.dirname(this.register));
      fs.writeFileSync(this.register, `${JSON.stringify([...this.#all])}\n`, { mode: 0o600 });
    } catch {
      // Then only a change of the setting before the next start would hide what is spilled.
    }
  }
}

/** A new folder in a spill folder. @throws Error where it cannot be made for good */
function makePlace(base: string): SparePlace {
  // The clock, for it counts in all spill folders; but it may have been put back since the last folder was made.
  const number = Math.max(Date.now(), ...ofProcesses(base).map((name) => numberOf(name) + 1));
  const folder = path.join(base, `${number}-${process.pid}-${randomBytes(6).toString('hex')}`);
  ensurePrivateFolder(folder);
  syncFolder(base);
  syncFolder(path.dirname(base));
  // Somebody who looks for what is left has seen it first, and removes it.
  return lockedPlace(folder) ?? makePlace(base);
}

/**
 * The folders that ended processes have left in a spill folder, oldest first.
 * @param known folders of this process
 * @returns isShared: processes that live have folders there
 */
function takeLeft(base: string, known: ReadonlySet<string>): { left: SparePlace[]; isShared: boolean } {
  const left: SparePlace[] = [];
  let isShared = false;
  for (const name of ofProcesses(base)) {
    const folder = path.join(base, name);
    if (known.has(folder)) continue;
    const place = lockedPlace(folder);
    if (place !== undefined) left.push(place);
    else isShared ||= fs.existsSync(folder);
  }
  return { left, isShared };
}

export function hasSpare({ folder }: SparePlace): boolean {
  const file = path.join(folder, SPARE_FILE);
  return fs.existsSync(file) || fs.existsSync(`${file}.salvaged`);
}

/**
 * Removes a folder in which nothing is needed any more. What a salvage has set aside is kept.
 * @returns where that is now
 */
export function removePlace({ folder, lock }: SparePlace): string[] {
  try {
    lock?.release();
    const kept = setAside(folder);
    fs.rmSync(folder, { recursive: true, force: true });
    return kept;
  } catch {
    // It is looked at again at the next start: nothing is in it.
    return [];
  }
}

function setAside(folder: string): string[] {
  const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  return names
    .filter((name) => name.includes(DAMAGED))
    .map((name) => {
      const moved = `${folder}-${name}`;
      fs.renameSync(path.join(folder, name), moved);
      return moved;
    });
}

/** By which folders of processes are ordered: it grows from one to the next. */
export function numberOf(folder: string): number {
  return Number(OF_PROCESS.exec(path.basename(folder))?.[1] ?? 0);
}

/** A folder in which messages wait that are not in the file of an inbox yet; undefined where there is none. @param folder of the inbox */
export function hasSpilledMessages(folder: string): string | undefined {
  const bases = new Set([path.join(folder, SPILL_FOLDER), ...registered(path.join(folder, SPILL_REGISTER))]);
  return [...bases].find((base) =>
    ofProcesses(base).some((name) => holdsMessages(path.join(base, name, SPARE_FILE))),
  );
}

/** One that cannot be read may hold some. */
function holdsMessages(file: string): boolean {
  if (sizeOf(file) === 0) return false;
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      return ['message', 'slot'].some((table) => database.prepare(`SELECT 1 FROM ${table}`).get());
    } finally {
      database.close();
    }
  } catch {
    return true;
  }
}

function lockedPlace(folder: string): SparePlace | undefined {
  try {
    const lock = lockFolder(folder);
    return lock && { folder, lock };
  } catch {
    return fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
      ? { folder, lock: undefined }
      : undefined;
  }
}

/** The names of the folders of all processes, oldest first. @throws Error where it cannot be read */
function ofProcesses(base: string): string[] {
  if (!fs.existsSync(base)) return [];
  return fs
    .readdirSync(base)
    .filter((name) => OF_PROCESS.test(name))
    .sort((one, other) => numberOf(one) - numberOf(other));
}

/** How long an answer counts, in milliseconds: whoever asks may be a stranger, and ask without end. */
const FRESH = 1000;
/** As long as a new spare with a small message: a full disk takes an empty file all the same. */
const SAMPLE = Buffer.alloc(128 * 1024);

interface Answer {
  folder: string;
  /** When it was there; before that, nobody tries again. */
  at: number;
  passes: Promise<boolean>;
}

/** Whether a message could be written to a spill folder: tried as one is, synced to the disk, once a second at most. */
export class SpillProbe {
  #last: Answer | undefined;

  /** @param monotonic milliseconds of a clock that never jumps */
  constructor(private readonly monotonic: () => number = () => performance.now()) {}

  passes(folder: string): Promise<boolean> {
    const last = this.#last;
    if (last?.folder === folder && this.monotonic() - last.at < FRESH) return last.passes;
    const passes = tried(folder);
    const answer = { folder, at: Infinity, passes };
    this.#last = answer;
    void passes.then(() => (answer.at = this.monotonic()));
    return passes;
  }
}

async function tried(folder: string): Promise<boolean> {
  const file = path.join(folder, `sample-${process.pid}`);
  try {
    ensurePrivateFolder(folder);
    await writeThrough(file);
    return true;
  } catch {
    return false;
  } finally {
    await fsPromises.unlink(file).catch(() => undefined);
  }
}

/** @throws Error where it is not on the disk then */
async function writeThrough(file: string): Promise<void> {
  const handle = await fsPromises.open(file, 'w', 0o600);
  try {
    await handle.writeFile(SAMPLE);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}
