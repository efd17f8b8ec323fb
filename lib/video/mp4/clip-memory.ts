import { createHash } from 'node:crypto';
import { inSlices } from '../../concurrency/iteration';
import { MOST_MEDIA, type ClipDestination, type FinishedClip } from './clip-destination';

/** Bytes that are copied and hashed without a look at the time: less than a millisecond on a slow machine. */
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
    for await (const piece of inSlices(cut([head, ...this.#pieces]))) {
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
