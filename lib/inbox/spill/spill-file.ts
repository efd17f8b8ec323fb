import fs from 'node:fs/promises';
import path from 'node:path';
import { frameBytes, type Frame, type FramePlace } from './frame';
import type { Segment } from './segment';

/** Above this length a new file begins, in bytes: it is read back in one piece. */
const MAX_FILE = 8 * 1024 * 1024;

/** Where a frame was written. */
export interface Written extends FramePlace {
  segment: Segment;
}

export interface SpillFileOptions {
  /** Makes the folder of a file, and tells it. @throws Error where it cannot */
  folder: () => Promise<string>;
  /** Bytes that there is room for; beyond it the senders keep their messages. */
  room: () => number;
  /** Told of each file before the first frame is written to it. */
  onSegment: (segment: Segment) => void;
}

interface Waiting {
  bytes: Buffer;
  resolve: (written: Written) => void;
  reject: (error: unknown) => void;
}

/** Files of frames that only grow; each frame is on the disk when `append` resolves. What comes together shares a sync. */
export class SpillFile {
  #handle: fs.FileHandle | undefined;
  #segment: Segment | undefined;
  /** False where the file system gives two answers to one question: then nothing can be said of its name. */
  #canTell = true;
  #number = 0;
  #queue: Waiting[] = [];
  /** Those who wait for the end of the file. */
  #leaving: (() => void)[] = [];
  #isWriting = false;

  constructor(private readonly options: SpillFileOptions) {}

  /** The file that the next frame goes into; undefined where it begins a new one. */
  get segment(): Segment | undefined {
    return this.#handle && this.#segment;
  }

  /** True while there is such a file, or one may be begun: its folder must stay. */
  get isInUse(): boolean {
    return this.#isWriting || this.#handle !== undefined;
  }

  /** Resolves when the frame is on the disk. @throws Error where it cannot be written */
  append(frame: Frame): Promise<Written> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ bytes: frameBytes(frame), resolve, reject });
      this.#work();
    });
  }

  /** What comes from now on goes into a new file. Resolves when what came before is written, whatever comes meanwhile. */
  leaveFile(): Promise<void> {
    return new Promise((resolve) => {
      this.#leaving.push(resolve);
      this.#work();
    });
  }

  #work(): void {
    if (!this.#isWriting) void this.#workOff();
  }

  /** The only one that opens and closes files: nobody closes one that another writes to. */
  async #workOff(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length + this.#leaving.length > 0) {
      const [batch, leaving] = [this.#queue, this.#leaving];
      [this.#queue, this.#leaving] = [[], []];
      if (batch.length > 0) await this.#settle(batch);
      if (leaving.length > 0) await this.#abandonFile();
      for (const resolve of leaving) resolve();
    }
    // At once, and not when the promise has settled: what is appended in between would wait for ever.
    this.#isWriting = false;
  }

  async #settle(batch: readonly Waiting[]): Promise<void> {
    try {
      const written = await this.#write(batch);
      for (const [index, { resolve }] of batch.entries()) resolve(written[index] ?? fail());
    } catch (error) {
      await this.#cutOff();
      for (const { reject } of batch) reject(error);
    }
  }

  async #write(batch: readonly Waiting[]): Promise<Written[]> {
    const frames = Buffer.concat(batch.map(({ bytes }) => bytes));
    if (frames.length > this.options.room()) throw new Error('the spill folder is full');
    if (!(await this.#hasName())) await this.#abandonFile();
    const handle = this.#handle ?? (await this.#newFile());
    const segment = this.#segment ?? fail();
    let at = segment.bytes;
    await writeAt(handle, frames, at);
    await handle.datasync();
    segment.bytes += frames.length;
    const written = batch.map(({ bytes: { length } }) => {
      at += length;
      return { segment, at: at - length, length };
    });
    if (segment.bytes > MAX_FILE) await this.#abandonFile();
    return written;
  }

  /** False where it was removed or renamed: what is written to it nobody would find. */
  async #hasName(): Promise<boolean> {
    if (this.#handle === undefined || this.#segment === undefined || !this.#canTell) return true;
    const open = await this.#handle.stat({ bigint: true });
    const named = await fs.stat(this.#segment.file, { bigint: true }).catch(() => undefined);
    return named?.ino === open.ino && named.dev === open.dev;
  }

  async #newFile(): Promise<fs.FileHandle> {
    const folder = await this.options.folder();
    this.#number += 1;
    const name = `spill-${this.#number}`;
    const file = path.join(folder, name);
    const handle = await openNew(file);
    this.#segment = { file, keptAs: `${path.basename(folder)}-${name}`, bytes: 0, isDamaged: false };
    this.options.onSegment(this.#segment);
    this.#handle = handle;
    this.#canTell = true;
    this.#canTell = await this.#hasName();
    return handle;
  }

  /** A torn frame would hide those behind it. The file is kept: a full disk must not make a new one for each try. */
  async #cutOff(): Promise<void> {
    try {
      await this.#handle?.truncate(this.#segment?.bytes);
    } catch {
      await this.#abandonFile();
    }
  }

  async #abandonFile(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => undefined);
  }
}

function fail(): never {
  throw new Error('nothing was written');
}

/** At its place, wherever a write that failed has ended. */
async function writeAt(handle: fs.FileHandle, bytes: Buffer, at: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

/** @throws Error where it cannot be made for good; then nothing of it stays */
async function openNew(file: string): Promise<fs.FileHandle> {
  const handle = await fs.open(file, 'wx', 0o600);
  try {
    await syncFolder(path.dirname(file));
    return handle;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await fs.unlink(file).catch(() => undefined);
    throw error;
  }
}

/** Without it the name of a new file may be gone after a power loss, and its content with it. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await fs.open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
