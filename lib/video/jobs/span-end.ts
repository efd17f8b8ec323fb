import type { VideoFrame } from '../media';
import { IN_ORDER } from './frame-run';

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
