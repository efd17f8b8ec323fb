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
  #number = 0;
  #queue: Waiting[] = [];
  #isWriting = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(private readonly options: SpillFileOptions) {}

  /** Resolves when the frame is on the disk. @throws Error where it cannot be written */
  append(frame: Frame): Promise<Written> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ bytes: frameBytes(frame), resolve, reject });
      if (!this.#isWriting) this.#writing = this.#writeAll();
    });
  }

  /** What comes from now on goes into a new file. */
  async leaveFile(): Promise<void> {
    await this.#writing;
    await this.#abandonFile();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        const written = await this.#write(batch);
        for (const [index, { resolve }] of batch.entries()) resolve(written[index] ?? fail());
      } catch (error) {
        // A torn frame would hide those behind it.
        await this.#abandonFile();
        for (const { reject } of batch) reject(error);
      }
    }
    // At once, and not when the promise has settled: what is appended in between would wait for ever.
    this.#isWriting = false;
  }

  async #write(batch: readonly Waiting[]): Promise<Written[]> {
    const frames = Buffer.concat(batch.map(({ bytes }) => bytes));
    if (frames.length > this.options.room()) throw new Error('the spill folder is full');
    const handle = (this.#handle ??= await this.#newFile());
    const segment = this.#segment ?? fail();
    let at = segment.bytes;
    await handle.appendFile(frames);
    await handle.datasync();
    segment.bytes += frames.length;
    const written = batch.map(({ bytes: { length } }) => {
      at += length;
      return { segment, at: at - length, length };
    });
    if (segment.bytes > MAX_FILE) await this.#abandonFile();
    return written;
  }

  async #newFile(): Promise<fs.FileHandle> {
    const folder = await this.options.folder();
    this.#number += 1;
    const name = `spill-${this.#number}`;
    const file = path.join(folder, name);
    const handle = await fs.open(file, 'wx', 0o600);
    await syncFolder(folder);
    this.#segment = { file, keptAs: `${path.basename(folder)}-${name}`, bytes: 0, isDamaged: false };
    this.options.onSegment(this.#segment);
    return handle;
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
