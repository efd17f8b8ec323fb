import type { AudioFormat, MediaFrame, MediaStream } from '../media';
import type { Joined } from '../sessions/upstreams';
import { SpanEnd } from './span-end';

/** A stream that ends at a moment. */
export class SpanReader implements MediaStream {
  readonly #joined: Joined;
  readonly #until: number;

  /** @param until in milliseconds since 1970 */
  constructor(joined: Joined, until: number) {
    this.#joined = joined;
    this.#until = until;
  }

  get leftOut(): readonly string[] {
    return this.#joined.reader.leftOut;
  }

  get audio(): AudioFormat | undefined {
    return this.#joined.reader.audio;
  }

  get lost(): number {
    return this.#joined.reader.lost;
  }

  wallClock(time: number): number | undefined {
    return this.#joined.reader.wallClock(time);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MediaFrame> {
    const { reader, momentOf } = this.#joined;
    const end = new SpanEnd();
    for await (const frame of reader) {
      const isBeyond = momentOf(frame.time) >= this.#until;
      if (frame.kind === 'video') {
        const pictures = end.next(frame, isBeyond);
        if (pictures === undefined) break;
        yield* pictures;
        // Sound may be ahead: only the pictures tell how far it is.
      } else if (!isBeyond) yield frame;
    }
    await this.close();
  }

  close(): Promise<void> {
    return this.#joined.reader.close();
  }
}
