/** H.264 and H.265 hold back no more pictures than this (max_dec_frame_buffering). */
const DEEPEST = 16;

/**
 * Finds times of decoding for pictures of which only the time of showing is known: each is decoded when the picture is shown that
 * comes so many places before it in the order of showing, so that what is shown earlier is decoded in time and all intervals are
 * those of the stream.
 */
export class DecodingTimes {
  /** Times of showing that no decoding has taken yet, in order. */
  readonly #waiting: number[];
  #last = -Infinity;

  /** @param before made-up times before that of the first picture, in order: as many as pictures are held back */
  constructor(before: readonly number[]) {
    this.#waiting = [...before];
  }

  /** When the next picture is decoded, later than all before it; as a rule not after it is shown. */
  next(shown: number): number {
    const place = this.#waiting.findIndex((time) => time > shown);
    this.#waiting.splice(place < 0 ? this.#waiting.length : place, 0, shown);
    // More are held back than was known: from now on one more is.
    const isDeeper = shown < this.#last && this.#waiting.length <= DEEPEST;
    const earliest = isDeeper ? -Infinity : (this.#waiting.shift() ?? shown);
    this.#last = Math.max(earliest, this.#last + 1);
    return this.#last;
  }
}
