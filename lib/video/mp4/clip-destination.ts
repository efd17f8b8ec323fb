import { createHash } from 'node:crypto';
import { timeSliced } from '../../concurrency/iteration';

/**
 * Maximum bytes of media data in a clip: sizes and offsets have 32 bits and also cover the index (ISO/IEC 14496-12, section
 * 4.2).
 */
export const MOST_MEDIA = 2 ** 32 - 2 ** 27;

/** Destination of a clip. The media data comes first, and the writer never stores it in memory. */
export interface ClipDestination {
  /** Maximum bytes of media data, at most `MOST_MEDIA`. */
  readonly most: number;
  /** Media data, in order. @throws RvmError STORE_FAILED */
  append(data: Uint8Array): Promise<void>;
  /**
   * Puts this in front of the media data, which completes the clip.
   * @throws RvmError STORE_FAILED
   */
  finish(head: Uint8Array): Promise<FinishedClip>;
  /** Removes the written data. Never fails; a complete clip stays. */
  discard(): Promise<void>;
}

export interface FinishedClip {
  bytes: number;
  /** Of all bytes, in hexadecimal digits. */
  sha256: string;
}

/** Bytes copied and hashed between two checks of the time: less than a millisecond on a slow machine. */
const PIECE = 128 * 1024;

/** A clip as one Buffer. */
export class ClipMemory implements ClipDestination {
  readonly most: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #content: Buffer | undefined;

  constructor(most = 256 * 1024 * 1024) {
    this.most = Math.min(most, MOST_MEDIA);
  }

  /** The clip. @throws Error before it is complete */
  get content(): Buffer {
    if (this.#content === undefined) throw new Error('The clip is not complete.');
    return this.#content;
  }

  async append(data: Uint8Array): Promise<void> {
    this.#pieces.push(data);
    this.#bytes += data.length;
  }

  async finish(head: Uint8Array): Promise<FinishedClip> {
    const hash = createHash('sha256');
    const content = Buffer.allocUnsafeSlow(head.length + this.#bytes);
    let at = 0;
    for await (const piece of timeSliced(cut([head, ...this.#pieces]))) {
      hash.update(piece);
      content.set(piece, at);
      at += piece.length;
    }
    this.#pieces = [];
    this.#content = content;
    return { bytes: content.length, sha256: hash.digest('hex') };
  }

  async discard(): Promise<void> {
    this.#pieces = [];
  }
}

function* cut(all: readonly Uint8Array[]): Iterable<Uint8Array> {
  for (const data of all) for (let at = 0; at < data.length; at += PIECE) yield data.subarray(at, at + PIECE);
}
