import fs from 'node:fs';
import path from 'node:path';
import { ensurePrivateFolder } from '../../files';
import type { Frame } from './frame';
import { dropSegment, type Segment } from './segment';
import { SpillFile, type Written } from './spill-file';
import { SpillFolder, type ReadSegment } from './spill-folder';
import { SpillProbe } from './spill-probe';
import { SpillRegister } from './spill-register';

/** What is spilled at most, in bytes; beyond it the senders keep their messages. */
const MAX_BYTES = 256 * 1024 * 1024;
/** More than the largest message needs with all that is kept of it, in bytes. */
const LARGEST_FRAME = 4 * 1024 * 1024;

export interface SpillJournalOptions {
  folder: string;
  /** File that names the folders in which messages may wait. */
  register: string;
  /** Told of a file that holds what could not be read or stored, and stays. */
  onLeft: (file: string) => void;
}

/** All files of frames, in all spill folders that are or were set: written, read at a start, and removed once nobody needs them. */
export class SpillJournal {
  readonly #folders = new Map<string, SpillFolder>();
  readonly #register: SpillRegister;
  /** In the order of writing. */
  #segments: (Segment & { base: string })[] = [];
  /** Those that stay, and can be given no other name. */
  readonly #told = new WeakSet<Segment>();
  readonly #file: SpillFile;
  readonly #probe = new SpillProbe();
  #current: SpillFolder;
  #isClosed = false;

  constructor(private readonly options: SpillJournalOptions) {
    this.#register = new SpillRegister(options.register);
    for (const folder of this.#register.read()) this.#add(folder);
    this.#current = this.#add(options.folder);
    this.#file = new SpillFile({
      folder: () => this.#current.own(),
      room: () => this.#room,
      onSegment: (segment) => this.#begun(segment),
    });
  }

  get folder(): string {
    return this.#current.folder;
  }

  /** True where `take` may find more later. */
  get isShared(): boolean {
    return [...this.#folders.values()].some((folder) => folder.isShared);
  }

  /** From now on frames are written there. */
  async moveTo(folder: string): Promise<void> {
    this.#current = this.#add(folder);
    this.#register.write([...this.#folders.keys()]);
    await this.#file.leaveFile();
  }

  /** What is wrong with the folder, before it is needed: undefined where it can be written. */
  check(): string | undefined {
    const probe = path.join(this.folder, `probe-${process.pid}`);
    try {
      ensurePrivateFolder(this.folder);
      fs.writeFileSync(probe, '');
      fs.unlinkSync(probe);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : 'unknown fault';
    }
  }

  /** Resolves with whether a frame could be written now: the folder is tried, at most once a second. */
  async wouldTake(): Promise<boolean> {
    return !this.#isClosed && this.#room > LARGEST_FRAME && this.#probe.passes(this.folder);
  }

  /** Resolves when the frame is on the disk. @throws Error where it cannot be written */
  append(frame: Frame): Promise<Written> {
    return this.#isClosed ? Promise.reject(new Error('it is closed')) : this.#file.append(frame);
  }

  /** What is there that no living process has, oldest first. */
  async take(): Promise<ReadSegment[]> {
    const found: (ReadSegment & { segment: Segment & { base: string } })[] = [];
    for (const [base, folder] of this.#folders) {
      for (const each of await folder.take())
        found.push({ ...each, segment: Object.assign(each.segment, { base }) });
    }
    found.sort((one, other) => one.number - other.number);
    this.#segments.unshift(...found.map(({ segment }) => segment));
    return found;
  }

  /**
   * Removes the files before the first that is needed, or is written meanwhile; all of them where none is. One that cannot be
   * removed keeps all behind it until the next time: they may say of its messages that they are in the inbox.
   * @param isNeeded asked at the last moment; undefined = it is not known
   */
  async drop(isNeeded: () => ReadonlySet<Segment> | undefined): Promise<void> {
    await this.#file.leaveFile();
    const needed = isNeeded();
    if (needed === undefined) return;
    const first = this.#segments.findIndex(
      (segment) => needed.has(segment) || segment === this.#file.segment,
    );
    for (const segment of this.#segments.slice(0, first < 0 ? this.#segments.length : first))
      if (!(await this.#drop(segment))) break;
    for (const folder of this.#folders.values()) await folder.tidy(() => this.#file.isInUse);
    if (this.#segments.length > 0) return;
    for (const folder of this.#folders.values())
      if (folder !== this.#current && !folder.isShared) this.#folders.delete(folder.folder);
    this.#register.write([...this.#folders.keys()]);
  }

  /** Ends writing; what is there stays. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#file.leaveFile();
    for (const folder of this.#folders.values()) {
      await folder.tidy(() => this.#file.isInUse);
      folder.release();
    }
  }

  /** In bytes. */
  get #room(): number {
    return MAX_BYTES - this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #add(folder: string): SpillFolder {
    const known = this.#folders.get(folder) ?? new SpillFolder(folder);
    this.#folders.set(folder, known);
    return known;
  }

  #begun(segment: Segment): void {
    const base = this.folder;
    if (this.#segments.length === 0) this.#register.write([...this.#folders.keys()]);
    this.#segments.push(Object.assign(segment, { base }));
  }

  /** False where it is still there. */
  async #drop(segment: Segment & { base: string }): Promise<boolean> {
    try {
      const left = await dropSegment(segment, segment.base);
      if (left !== undefined) this.options.onLeft(left);
    } catch {
      if (fs.existsSync(segment.file)) return this.#stays(segment);
    }
    this.#segments = this.#segments.filter((other) => other !== segment);
    return true;
  }

  #stays(segment: Segment): false {
    if (segment.isDamaged && !this.#told.has(segment)) this.options.onLeft(segment.file);
    this.#told.add(segment);
    return false;
  }
}
