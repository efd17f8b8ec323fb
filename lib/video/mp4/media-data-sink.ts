import { WritableStream } from 'node:stream/web';
import type { StreamTargetChunk } from 'mediabunny';

/** Takes media data, in order; who writes waits for it. */
export type Append = (data: Uint8Array) => Promise<void>;

/** Hands on the media data of an MP4 that is written with its index last, and leaves out what stands before and behind them. */
export class MediaDataSink {
  /** For the library to write to. Takes one piece while it waits for more of them. */
  readonly stream: WritableStream<StreamTargetChunk>;
  /** Where the media data begin, and how many there are, in bytes. */
  begin = 0;
  length = 0;
  /** Where the index begins, once it is known. */
  indexAt = Infinity;

  constructor(append: Append) {
    this.stream = new WritableStream({ write: (chunk) => this.#take(chunk, append) });
  }

  async #take({ position, data }: StreamTargetChunk, append: Append): Promise<void> {
    // First of all comes all that stands before the data, in one piece. Its sizes are written anew in the end.
    if (position === 0) this.begin = Math.max(this.begin, data.length);
    if (position < this.begin) return;
    const media = data.subarray(0, Math.max(0, this.indexAt - position));
    this.length += media.length;
    if (media.length > 0) await append(media);
  }
}
