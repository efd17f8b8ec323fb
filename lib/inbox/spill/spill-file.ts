import fs from 'node:fs/promises';
import path from 'node:path';
import zlib from 'node:zlib';
import { ensurePrivateFolder } from '../../files';
import { isRecord } from '../../json/json';
import type { Brought, Finish } from '../store/port';

/** What is known of a message besides itself, when it is spilled. */
export interface SpilledFacts {
  /** Null where what is in the inbox cannot be read. */
  first: boolean | null;
  ended: boolean | null;
  mayRepeat: boolean;
  /** The webhook node whose message it is, for its endpoint may be another one later; the endpoint, where that had no node. */
  node: string;
}

/** A message that is spilled. */
export type MessageFrame = Omit<Brought, 'lateId' | 'wasBrought'> & SpilledFacts & { kind: 'message' };

/** One entry of a spill file. */
export type Frame =
  | MessageFrame
  /** How far a message has come: that with the highest `change` counts. */
  | ({ kind: 'progress'; change: number } & Pick<Brought, 'deliveryId' | 'progress'>)
  /** These messages are in the inbox: what their frames say counts no more. */
  | { kind: 'inside'; deliveryIds: string[] }
  /** The end of an event that is in the inbox, which could not be told. */
  | ({ kind: 'settled' } & Required<Pick<Finish, 'deliveryId' | 'state' | 'step'>>);

/** Where a frame stands in its file, in bytes. */
export interface FramePlace {
  at: number;
  length: number;
}

/** Length and CRC-32 of a frame, each 32 bits, big-endian. */
const HEAD = 8;

function frameBytes(frame: Frame): Buffer {
  if (frame.kind !== 'message') return framed(JSON.stringify(frame), new Uint8Array());
  const { bytes, ...columns } = frame.message;
  return framed(JSON.stringify({ ...frame, message: columns }), bytes);
}

function framed(text: string, bytes: Uint8Array): Buffer {
  const content = Buffer.concat([Buffer.from(`${text}\n`), bytes]);
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(content.length, 0);
  head.writeUInt32BE(zlib.crc32(content), 4);
  return Buffer.concat([head, content]);
}

/**
 * The frames of a file that are as they were written. What follows a frame that a crash has torn was never acknowledged; what
 * follows one that the disk has changed was.
 */
function framesIn(file: Buffer): { frames: (FramePlace & { frame: Frame })[]; isWhole: boolean } {
  const frames: (FramePlace & { frame: Frame })[] = [];
  let isWhole = true;
  let at = 0;
  while (at + HEAD <= file.length) {
    const length = HEAD + file.readUInt32BE(at);
    // No frame is empty: after a power loss a file may end in zeros, which its length had grown by and nobody had written.
    if (length === HEAD || at + length > file.length) break;
    const frame = frameIn(file.subarray(at, at + length));
    if (frame === undefined) isWhole = false;
    else frames.push({ frame, at, length });
    at += length;
  }
  return { frames, isWhole: isWhole && at === file.length };
}

/** Undefined where its bytes have changed. @param bytes a frame with its head */
function frameIn(bytes: Buffer): Frame | undefined {
  const content = bytes.subarray(HEAD);
  if (zlib.crc32(content) !== bytes.readUInt32BE(4)) return undefined;
  const split = content.indexOf('\n');
  const columns = columnsIn(content.toString('utf8', 0, Math.max(split, 0)));
  if (columns?.kind !== 'message') return columns;
  return { ...columns, message: { ...columns.message, bytes: new Uint8Array(content.subarray(split + 1)) } };
}

/** Undefined where they are none, though their checksum is right. */
function columnsIn(text: string): Frame | undefined {
  try {
    const columns = JSON.parse(text) as Frame | undefined;
    return isRecord(columns) && 'kind' in columns ? columns : undefined;
  } catch {
    return undefined;
  }
}

/** One file of frames. */
export interface Segment {
  readonly file: string;
  /** Its name among what stays in the spill folder. */
  readonly keptAs: string;
  /** Length, in bytes. */
  bytes: number;
  /** A part of it cannot be read: then it is kept. */
  isDamaged: boolean;
}

/** Of a folder of files of frames: `spill-1` and so on. */
const NAME = /^spill-(\d+)$/;

/** Names of the files of frames in a folder, oldest first. @throws Error where the folder cannot be read */
export async function segmentNames(folder: string): Promise<string[]> {
  const entries = await fs.readdir(folder, { withFileTypes: true });
  // Whatever else has such a name was made by somebody else: a pipe would be read for ever.
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  return files
    .filter((name) => NAME.test(name))
    .sort((one, other) => segmentNumberOf(one) - segmentNumberOf(other));
}

function segmentNumberOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}

/** Reads a file of frames; one that cannot be read at all is kept as a damaged one. */
export async function readSegment(
  file: string,
  keptAs: string,
): Promise<{ segment: Segment; frames: (FramePlace & { frame: Frame })[] }> {
  const content = await fs.readFile(file).catch(() => undefined);
  const { frames, isWhole } = framesIn(content ?? Buffer.alloc(0));
  const segment = {
    file,
    keptAs,
    bytes: content?.length ?? 0,
    isDamaged: content === undefined || !isWhole,
  };
  return { segment, frames };
}

/** Frames once more, one after the other. Each is undefined where it cannot be read. */
export async function* readFrames(
  { file }: Segment,
  places: readonly FramePlace[],
): AsyncGenerator<Frame | undefined> {
  const handle = await fs.open(file, 'r').catch(() => undefined);
  try {
    for (const place of places) yield handle && (await readAt(handle, place));
  } finally {
    await handle?.close();
  }
}

/** One frame once more. Undefined where it cannot be read. */
export async function readFrame(segment: Segment, place: FramePlace): Promise<Frame | undefined> {
  for await (const frame of readFrames(segment, [place])) return frame;
  return undefined;
}

async function readAt(handle: fs.FileHandle, { at, length }: FramePlace): Promise<Frame | undefined> {
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, at);
    return bytesRead === length ? frameIn(buffer) : undefined;
  } catch {
    return undefined;
  }
}

/** Nothing in it is needed any more. Gives the name of what stays, where a part of it could not be read. */
export async function dropSegment(
  { file, keptAs, isDamaged }: Segment,
  base: string,
): Promise<string | undefined> {
  if (!isDamaged) {
    await fs.unlink(file);
    return undefined;
  }
  const kept = path.join(base, `${keptAs}.damaged`);
  await fs.rename(file, kept);
  return kept;
}

/** How long an answer counts, in milliseconds: whoever asks may be a stranger, and ask without end. */
const FRESH = 1000;
/** As long as a small message: a full disk takes an empty file all the same. */
const SAMPLE = Buffer.alloc(4096);

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
    await fs.unlink(file).catch(() => undefined);
  }
}

/** @throws Error where it is not on the disk then */
async function writeThrough(file: string): Promise<void> {
  const handle = await fs.open(file, 'w', 0o600);
  try {
    await handle.writeFile(SAMPLE);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Above this length a new file begins, in bytes: it is read back in one piece. */
const MAX_FILE = 8 * 1024 * 1024;

/** Where a frame was written. */
export interface Written extends FramePlace {
  segment: Segment;
}

interface SpillFileOptions {
  /** Makes the folder of a file, and tells it. @throws Error where it cannot */
  folder: () => Promise<string>;
  /** Bytes that there is room for; beyond it the senders keep their messages. */
  capacity: () => number;
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
    if (frames.length > this.options.capacity()) throw new Error('the spill folder is full');
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
