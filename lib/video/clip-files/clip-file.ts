import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { MOST_MEDIA, type ClipDestination, type FinishedClip } from '../mp4/clip-destination';
import { diskFault } from './disk-fault';
import { halfName } from './half-file';

/** Where a clip will stand, in a folder that was looked at. */
export interface ClipPlace {
  folder: string;
  name: string;
}

/** Bytes that are read, hashed and written at a time: less than a millisecond on a slow machine. */
const PIECE = 256 * 1024;

/**
 * A clip as a file, for this user alone. The media data are written as they come; then index and data are put together in another
 * file, which gets its name once it is on the disk. So half a clip never has the name of one.
 */
export class ClipFile implements ClipDestination {
  readonly most = MOST_MEDIA;
  /** Where the clip stands once it is complete. */
  readonly path: string;
  readonly #folder: string;
  #media: HalfFile | undefined;
  #whole: HalfFile | undefined;

  constructor({ folder, name }: ClipPlace) {
    this.#folder = folder;
    this.path = path.join(folder, name);
  }

  async append(data: Uint8Array): Promise<void> {
    await inWords(async () => {
      this.#media ??= await HalfFile.make(this.#folder);
      await this.#media.append(data);
    });
  }

  async finish(head: Uint8Array): Promise<FinishedClip> {
    return inWords(async () => {
      const whole = (this.#whole = await HalfFile.make(this.#folder));
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

/** What is not a clip yet. */
class HalfFile {
  length = 0;

  static async make(folder: string): Promise<HalfFile> {
    const name = path.join(folder, halfName());
    return new HalfFile(name, await fs.open(name, 'wx+', 0o600));
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

  /** Each piece is good until the next is asked for. */
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

/** So that the new name outlives a failure of power. Not every system can; the file itself is on the disk. */
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
