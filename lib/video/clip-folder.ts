import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { RvmError } from '../error';
import { type ClipDestination, type FinishedClip, MOST_MEDIA } from './mp4/clip-destination';

/** Characters: every system refuses longer paths. */
const LONGEST = 1024;

/**
 * The real path of a folder for clips, which exists and is writable.
 * @param below a subfolder, for example one chosen by a message; empty for none. Links are followed, but
 *   must not lead outside.
 * @throws RvmError BAD_INPUT
 */
async function chosenFolder(folder: string, below: string): Promise<string> {
  const root = await realFolder(folder, 'The folder for clips');
  const chosen = below === '' ? root : await folderBelow(path.resolve(folder), root, below);
  try {
    await fs.access(chosen, fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    throw badFolder(
      `${below === '' ? 'The folder for clips' : CHOSEN} cannot be written to: let Node-RED write there.`,
    );
  }
  return chosen;
}

const CHOSEN = 'The folder that the message chose for the clip';

async function folderBelow(folder: string, root: string, below: string): Promise<string> {
  const place = path.resolve(folder, below);
  const isPlain = below.length <= LONGEST && !below.includes('\0');
  // Checked before any system call: its result would reveal whether a path outside exists.
  if (!isPlain || !isBelow(folder, place)) throw outside();
  const real = await realFolder(place, CHOSEN);
  if (!isBelow(root, real)) throw outside();
  return real;
}

async function realFolder(folder: string, what: string): Promise<string> {
  const real = await fs.realpath(folder).catch(() => undefined);
  const isFolder = real !== undefined && (await fs.stat(real).catch(() => undefined))?.isDirectory();
  if (real === undefined || isFolder === undefined)
    throw badFolder(`${what} does not exist: make it, or choose another one.`);
  if (!isFolder) throw badFolder(`${what} is a file: choose a folder.`);
  return real;
}

function isBelow(root: string, place: string): boolean {
  const way = path.relative(root, place);
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

function outside(): RvmError {
  return badFolder(`${CHOSEN} lies outside of the folder for clips: choose one inside.`);
}

function badFolder(message: string): RvmError {
  return new RvmError('BAD_INPUT', message);
}

/** Folder and name of a clip to be written; the folder was checked. */
interface ClipPlace {
  folder: string;
  name: string;
}

/** Bytes read, hashed and written at a time: less than a millisecond on a slow machine. */
const PIECE = 256 * 1024;

/**
 * A clip as a file, readable only by this user. Media data are written as they come; index and data are then combined in
 * another file, which gets its final name once it is synced. So a partial clip never has the name of a clip.
 */
export class ClipFile implements ClipDestination {
  readonly most = MOST_MEDIA;
  /** Path of the complete clip. */
  readonly path: string;
  readonly #folder: string;
  #media: PartialFile | undefined;
  #whole: PartialFile | undefined;

  constructor({ folder, name }: ClipPlace) {
    this.#folder = folder;
    this.path = path.join(folder, name);
  }

  async append(data: Uint8Array): Promise<void> {
    await inWords(async () => {
      this.#media ??= await PartialFile.make(this.#folder);
      await this.#media.append(data);
    });
  }

  async finish(head: Uint8Array): Promise<FinishedClip> {
    return inWords(async () => {
      const whole = (this.#whole = await PartialFile.make(this.#folder));
      const hash = createHash('sha256');
      for await (const piece of this.#pieces(head)) {
        hash.update(piece);
        await whole.append(piece);
      }
      await whole.keepAs(this.path);
      this.#whole = undefined;
      await this.discard();
      return { bytes: whole.length, sha256: hash.digest('hex') };
    });
  }

  async discard(): Promise<void> {
    await this.#media?.remove();
    await this.#whole?.remove();
  }

  async *#pieces(head: Uint8Array): AsyncGenerator<Uint8Array> {
    yield head;
    if (this.#media !== undefined) yield* this.#media.content();
  }
}

/** The temporary file of a clip. */
class PartialFile {
  length = 0;

  static async make(folder: string): Promise<PartialFile> {
    const name = path.join(folder, partialName());
    return new PartialFile(name, await fs.open(name, 'wx+', 0o600));
  }

  private constructor(
    private readonly name: string,
    private readonly handle: fs.FileHandle,
  ) {}

  async append(data: Uint8Array): Promise<void> {
    for (let written = 0; written < data.length;) {
      const { bytesWritten } = await this.handle.write(data, written, data.length - written, this.length);
      written += bytesWritten;
      this.length += bytesWritten;
    }
  }

  /** Each piece is valid until the next one is requested. */
  async *content(): AsyncGenerator<Uint8Array> {
    const piece = Buffer.allocUnsafeSlow(PIECE);
    for (let at = 0; at < this.length;) {
      const { bytesRead } = await this.handle.read(piece, 0, PIECE, at);
      if (bytesRead === 0) throw new Error('The file has become shorter.');
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  }

  async keepAs(name: string): Promise<void> {
    await this.handle.sync();
    await this.handle.close();
    await fs.rename(this.name, name);
    await syncFolder(path.dirname(name));
  }

  /** Never fails. */
  async remove(): Promise<void> {
    await this.handle.close().catch(() => undefined);
    await fs.rm(this.name, { force: true }).catch(() => undefined);
  }
}

/** Makes the new name survive a power failure. Not every system supports it; the file itself is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await fs.open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close().catch(() => undefined);
}

async function inWords<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw diskFault(error);
  }
}

interface ClipFolderOptions {
  folder: string;
  /** Days after which clips are removed; 0 for never. */
  keepDays: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/** Milliseconds between two clean-ups. */
const PAUSE = 60 * 60 * 1000;

/** A folder for clips. Removes old clips where that is configured, and partial clips of ended processes. */
export class ClipFolder {
  readonly #now: () => number;
  #lookedAt = -Infinity;
  #tidying: Promise<void> = Promise.resolve();

  constructor(private readonly options: ClipFolderOptions) {
    this.#now = options.now ?? Date.now;
  }

  /**
   * Folder and name for a new clip; called before any session is opened. Creates nothing.
   * @param below a subfolder chosen by a message; empty for none
   * @throws RvmError BAD_INPUT for a path that does not exist, is no folder, is not writable, or lies
   *   outside
   */
  async place(subject: ClipSubject, below = ''): Promise<ClipPlace> {
    const folder = await chosenFolder(this.options.folder, below);
    this.#tidy();
    return { folder, name: clipName(subject) };
  }

  /** Resolves once no clean-up is running. */
  tidied(): Promise<void> {
    return this.#tidying;
  }

  /** Runs in the background: a folder with many files takes its time. */
  #tidy(): void {
    const now = this.#now();
    if (now - this.#lookedAt < PAUSE) return;
    this.#lookedAt = now;
    const { folder, keepDays } = this.options;
    this.#tidying = this.#tidying.then(() => removeOldFiles(folder, { keepDays, now }));
  }
}

/** The subject of a clip, for its name. */
interface ClipSubject {
  cameraId: string;
  /** Absent for a clip without an alarm. */
  alarmId?: string;
  /** When it begins. */
  time: Date;
}

/** Characters of an id: with two of them, a name fits every file system, encrypted ones included (143). */
const LONGEST_ID = 32;
/** Pattern of clip names; no other file is ever removed as a clip. */
const CLIP_NAME = /^clip-\d{8}T\d{6}Z-[\w-]{1,66}-[0-9a-f]{8}\.mp4$/;

/** A new name for a clip, such as `clip-20251009T085320Z-camera-7-alarm-3-1f0a9c44.mp4`. Sorting by name sorts by time. */
function clipName({ cameraId, alarmId, time }: ClipSubject): string {
  const stamp = time.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const ids = [cameraId, ...(alarmId === undefined ? [] : [alarmId])].map(safe);
  return `clip-${stamp}-${ids.join('-')}-${randomBytes(4).toString('hex')}.mp4`;
}

function isClipName(name: string): boolean {
  return CLIP_NAME.test(name);
}

/** Ids come from outside: they must not lead out of the folder, hide a file, or be refused by a file system. */
function safe(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, LONGEST_ID) || '_';
}

const ROOM: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk with the folder for clips is full: make room on it.',
  EDQUOT: 'The folder for clips has used up its quota: make room in it.',
  EFBIG: 'A clip is larger than a file in its folder may be: make it shorter, or choose another disk.',
  EROFS:
    'The disk with the folder for clips can no longer be written to: see why the system made it read-only.',
  ENOENT: 'The folder for clips was removed while a clip was written: make it again.',
};

/** Converts a system error during the write of a clip. */
function diskFault(error: unknown): RvmError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault';
  const known = ROOM[code];
  return new RvmError(
    'STORE_FAILED',
    known ?? `The clip could not be written to its folder (${code}): see to the disk.`,
  );
}

/** Milliseconds after which a partial file of another machine is abandoned: a writer appends every few seconds. */
const ABANDONED = 60 * 60 * 1000;
/** Machine, process id, and start of the process: process ids are reused, above all in containers. */
const HALF_FILE_NAME = /^\.clip-([0-9a-f]{8})-(\d{1,10})-(\d{13,16})-[0-9a-f]{8}\.part$/;
const MACHINE = createHash('sha256').update(os.hostname()).digest('hex').slice(0, 8);
const BEGAN = Math.round(performance.timeOrigin);

/** A new name for a temporary file. */
export function partialName(): string {
  return `.clip-${MACHINE}-${process.pid}-${BEGAN}-${randomBytes(4).toString('hex')}.part`;
}

/**
 * Whether a file is the partial clip of an ended process.
 * @param age milliseconds since its last write
 */
function isLeftOver(name: string, age: number): boolean {
  const [, machine, pid, began] = HALF_FILE_NAME.exec(name) ?? [];
  if (machine === undefined) return false;
  if (machine !== MACHINE) return age > ABANDONED;
  if (Number(pid) === process.pid) return Number(began) !== BEGAN;
  // The id of a killed process may now belong to any other program.
  return age > ABANDONED || !isAlive(Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process is alive, but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

const DAY = 24 * 60 * 60 * 1000;
/** Depth of subfolders that are cleaned: a message may choose a path, and large trees of other files may be in the folder. */
const DEEPEST = 4;

interface OldFiles {
  /** Days after which a clip is removed; 0 for never. */
  keepDays: number;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * Removes partial clips of ended processes and clips that are too old, in a folder and its subfolders. Other names stay, and
 * links are not followed. Never fails: what cannot be removed is left for the next clean-up.
 */
async function removeOldFiles(folder: string, old: OldFiles, depth = 0): Promise<void> {
  const entries = await fs.opendir(folder).catch(() => undefined);
  if (entries === undefined) return;
  try {
    for await (const entry of entries) {
      const place = path.join(folder, entry.name);
      if (entry.isDirectory() && depth < DEEPEST) await removeOldFiles(place, old, depth + 1);
      if (entry.isFile()) await removeIfOld(place, old);
    }
  } catch {
    // The folder is gone, or the disk fails: the next write there will report it.
  }
}

async function removeIfOld(file: string, { keepDays, now }: OldFiles): Promise<void> {
  const name = path.basename(file);
  const isClip = isClipName(name);
  if (!isClip && !name.startsWith('.clip-')) return;
  const stat = await fs.lstat(file).catch(() => undefined);
  if (stat === undefined) return;
  const age = now - stat.mtimeMs;
  const isOld = isClip ? keepDays > 0 && age > keepDays * DAY : isLeftOver(name, age);
  if (isOld) await fs.rm(file, { force: true }).catch(() => undefined);
}
