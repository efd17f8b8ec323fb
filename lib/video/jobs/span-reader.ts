import type { AudioFormat, MediaFrame, MediaStream, VideoFrame } from '../media';
import type { Subscription } from '../sessions/shared-stream';
import { IN_ORDER } from './pictures';

/**
 * Ends a sequence of pictures at a moment. A picture decoded later may be displayed earlier and need those before it: pictures
 * beyond the moment are held back until one shows that none before it is missing.
 */
export class SpanEnd {
  /** In the order of decoding. */
  #beyond: VideoFrame[] = [];
  #highest = -Infinity;

  /** True once a picture beyond the end has arrived: only pictures displayed right before the end may be missing. */
  get isReached(): boolean {
    return this.#beyond.length > 0;
  }

  /**
   * Takes the next picture in decoding order.
   * @returns the pictures that now belong to the span; undefined once it is over
   */
  next(frame: VideoFrame, isBeyond: boolean): VideoFrame[] | undefined {
    const carried = this.#beyond;
    if (!isBeyond) {
      this.#beyond = [];
      this.#highest = -Infinity;
      return [...carried, frame];
    }
    // B-frames follow the picture that they refer to: a picture displayed later than that one ends them.
    const isLast =
      IN_ORDER.test(frame.format.codecString) || (carried.length > 0 && frame.time > this.#highest);
    if (isLast) return undefined;
    carried.push(frame);
    this.#highest = Math.max(this.#highest, frame.time);
    return [];
  }
}

/** A stream that ends at a moment. */
export class SpanReader implements MediaStream {
  /** @param until milliseconds since 1970 */
  constructor(
    private readonly joined: Subscription,
    private readonly until: number,
  ) {}

  get leftOut(): readonly string[] {
    return this.joined.reader.leftOut;
  }

  get audio(): AudioFormat | undefined {
    return this.joined.reader.audio;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MediaFrame> {
    const { reader, momentOf } = this.joined;
    const end = new SpanEnd();
    for await (const frame of reader) {
      const isBeyond = momentOf(frame.time) >= this.until;
      if (frame.kind === 'video') {
        const pictures = end.next(frame, isBeyond);
        if (pictures === undefined) break;
        yield* pictures;
        // Audio may be ahead: only pictures show the progress.
      } else if (!isBeyond) yield frame;
    }
    await this.close();
  }

  close(): Promise<void> {
    return this.joined.reader.close();
  }
}
