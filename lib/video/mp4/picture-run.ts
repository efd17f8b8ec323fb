import { DecodingTimes } from './decoding-times';
import { VIDEO_TRACK } from './initialisation';
import type { TrackRun } from './movie-fragment';

/** A picture as it lies in a fragment, and when it is shown, on the clock of its track. */
export interface Picture {
  data: Buffer;
  key: boolean;
  shown: number;
}

/**
 * Pictures, each given once the next is there: only then is it known how long it lasts. A player that is told a guess finds a gap
 * behind it, or drops what follows.
 */
export class PictureRun {
  readonly #times: DecodingTimes;
  #held: (Picture & { decoded: number }) | undefined;

  /** @param before see DecodingTimes */
  constructor(before: readonly number[]) {
    this.#times = new DecodingTimes(before);
  }

  /** The picture before this one. */
  next(picture: Picture): TrackRun | undefined {
    const decoded = this.#times.next(picture.shown);
    const before = this.end(decoded - (this.#held?.decoded ?? 0));
    this.#held = { ...picture, decoded };
    return before;
  }

  /** The newest picture, which nothing follows. @param duration on the clock of the track */
  end(duration: number): TrackRun | undefined {
    if (this.#held === undefined) return undefined;
    const { data, key, shown, decoded } = this.#held;
    this.#held = undefined;
    const samples = [{ data, key, duration, offset: shown - decoded }];
    return { track: VIDEO_TRACK, start: decoded, samples };
  }
}
