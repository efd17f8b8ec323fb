import type { AudioFormat, MediaFrame, MediaStream, VideoFrame } from '../media';
import type { Subscription } from '../sessions/shared-stream';
import { IN_ORDER } from './pictures';

/**
 * Where pictures end at a moment. One that is decoded later may be shown earlier, and then needs those before it: what lies beyond
 * the moment is held back until a picture tells that nothing before it is missing.
 */
export class SpanEnd {
  /** In the order of decoding. */
  #beyond: VideoFrame[] = [];
  #highest = -Infinity;

  /** A picture beyond it has come: nothing that the span needs is missing, but pictures shown right before its end. */
  get isReached(): boolean {
    return this.#beyond.length > 0;
  }

  /**
   * The next picture, in the order of decoding.
   * @returns those that belong to the span now; undefined once it is over
   */
  next(frame: VideoFrame, isBeyond: boolean): VideoFrame[] | undefined {
    const held = this.#beyond;
    if (!isBeyond) {
      this.#beyond = [];
      this.#highest = -Infinity;
      return [...held, frame];
    }
    // B-frames come directly behind the picture that they refer to: one that is shown later than that ends them.
    const isLast = IN_ORDER.test(frame.format.codecString) || (held.length > 0 && frame.time > this.#highest);
    if (isLast) return undefined;
    held.push(frame);
    this.#highest = Math.max(this.#highest, frame.time);
    return [];
  }
}

/** A stream that ends at a moment. */
export class SpanReader implements MediaStream {
  readonly #joined: Subscription;
  readonly #until: number;

  /** @param until in milliseconds since 1970 */
  constructor(joined: Subscription, until: number) {
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
