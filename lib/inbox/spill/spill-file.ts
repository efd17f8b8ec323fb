import fs from 'node:fs/promises';
import path from 'node:path';
import zlib from 'node:zlib';
import { makeFolder } from '../../make-folder';
import type { NewMessage } from '../store/protocol';

/** Length and CRC-32 of a frame, each 32 bits, big-endian. */
const HEAD = 8;
/** What is spilled at most, in bytes; beyond it the senders keep their messages. */
const MAX_BYTES = 256 * 1024 * 1024;
/** A file is read back in one piece; above this length a new one begins, in bytes. */
const MAX_FILE = 8 * 1024 * 1024;
const NAME = /^spill-(\d+)(\.taken)?$/;

interface Waiting {
  frame: Buffer;
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface Spilled {
  number: number;
  name: string;
}

/**
 * The second chance of a message that the store cannot take: files of frames that only grow, each frame on the disk when
 * `append` resolves. Read back into the store when that works again, then removed.
 */
export class SpillFile {
  #handle: fs.FileHandle | undefined;
  #number = 0;
  #bytes = 0;
  #fileBytes = 0;
  #queue: Waiting[] = [];
  #isWriting = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(readonly folder: string) {}

  /** Resolves when the message is on the disk. @throws Error where it cannot be written */
  append(message: NewMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ frame: frameOf(message), resolve, reject });
      if (!this.#isWriting) this.#writing = this.#writeAll();
    });
  }

  /**
   * Hands everything that was spilled to `take`, in order, a file at a time. A file that was taken whole is removed. Where
   * `take` says false, or a part of it cannot be read, it stays under another name. A message may be handed over twice,
   * after a crash in between.
   * @returns the files that stay
   * @throws what `take` throws; that file, and those behind it, stay for the next time
   */
  async readBack(take: (messages: NewMessage[]) => Promise<boolean>): Promise<string[]> {
    await this.#leaveFile();
    const left: string[] = [];
    for (const { number, name } of await this.#files()) {
      const file = this.#file(number);
      // First of all, so that whoever is writing to it, perhaps another process, notices and writes elsewhere.
      const taken = `${file}.taken`;
      await fs.rename(path.join(this.folder, name), taken);
      const content = await fs.readFile(taken).catch(() => undefined);
      if (content === undefined) {
        left.push(taken);
        continue;
      }
      const { messages, isWhole } = messagesIn(content);
      const isTaken = messages.length === 0 || (await take(messages));
      if (isTaken && isWhole) await fs.unlink(taken);
      else {
        left.push(`${file}.${isTaken ? 'damaged' : 'refused'}`);
        await fs.rename(taken, left.at(-1) ?? taken);
      }
    }
    return left;
  }

  /** Ends writing; what is there stays. */
  async close(): Promise<void> {
    await this.#leaveFile();
  }

  /** What comes from now on goes into a new file. */
  async #leaveFile(): Promise<void> {
    await this.#writing;
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        await this.#write(Buffer.concat(batch.map(({ frame }) => frame)));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        // A torn frame would hide those behind it.
        await this.#abandonFile();
        for (const { reject } of batch) reject(error);
      }
    }
    // At once, and not when the promise has settled: what is appended in between would wait for ever.
    this.#isWriting = false;
  }

  async #write(frames: Buffer): Promise<void> {
    const handle = (this.#handle ??= await this.#newFile());
    if (this.#bytes + frames.length > MAX_BYTES) throw new Error('the spill file is full');
    await handle.appendFile(frames);
    await handle.datasync();
    this.#bytes += frames.length;
    this.#fileBytes += frames.length;
    if (!(await this.#isThere(handle))) {
      await this.#abandonFile();
      await this.#write(frames);
    } else if (this.#fileBytes > MAX_FILE) await this.#abandonFile();
  }

  /** False where the file is being read back: perhaps without what was written last. */
  async #isThere(handle: fs.FileHandle): Promise<boolean> {
    const there = await fs.stat(this.#file(this.#number)).catch(() => undefined);
    return there?.ino === (await handle.stat()).ino;
  }

  async #newFile(): Promise<fs.FileHandle> {
    makeFolder(this.folder);
    const files = await this.#files();
    this.#number = Math.max(this.#number, ...files.map(({ number }) => number)) + 1;
    this.#bytes = await this.#spilledBytes(files);
    this.#fileBytes = 0;
    const handle = await fs.open(this.#file(this.#number), 'wx', 0o600);
    await syncFolder(this.folder);
    return handle;
  }

  async #abandonFile(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => undefined);
  }

  async #spilledBytes(files: readonly Spilled[]): Promise<number> {
    // One that is being read back may go meanwhile.
    const sizes = files.map(({ name }) =>
      fs.stat(path.join(this.folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  /** Files that are there, oldest first. */
  async #files(): Promise<Spilled[]> {
    const names = await fs.readdir(this.folder).catch(() => []);
    return names
      .map((name) => ({ name, number: Number(NAME.exec(name)?.[1] ?? NaN) }))
      .filter(({ number }) => Number.isSafeInteger(number))
      .sort((one, other) => one.number - other.number);
  }

  #file(number: number): string {
    return path.join(this.folder, `spill-${number}`);
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

function frameOf({ bytes, ...rest }: NewMessage): Buffer {
  const columns = Buffer.from(`${JSON.stringify(rest)}\n`);
  const content = Buffer.concat([columns, bytes]);
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(content.length, 0);
  head.writeUInt32BE(zlib.crc32(content), 4);
  return Buffer.concat([head, content]);
}

/**
 * The frames of a file that are as they were written. What follows a frame that a crash has torn was never acknowledged;
 * what follows one that the disk has changed was.
 */
function messagesIn(file: Buffer): { messages: NewMessage[]; isWhole: boolean } {
  const messages: NewMessage[] = [];
  let isWhole = true;
  let at = 0;
  while (at + HEAD <= file.length) {
    const end = at + HEAD + file.readUInt32BE(at);
    if (end > file.length) break;
    const content = file.subarray(at + HEAD, end);
    if (zlib.crc32(content) === file.readUInt32BE(at + 4)) messages.push(messageOf(content));
    else isWhole = false;
    at = end;
  }
  return { messages, isWhole: isWhole && at === file.length };
}

function messageOf(content: Buffer): NewMessage {
  const split = content.indexOf('\n');
  const columns = JSON.parse(content.toString('utf8', 0, split)) as Omit<NewMessage, 'bytes'>;
  return { ...columns, bytes: new Uint8Array(content.subarray(split + 1)) };
}
