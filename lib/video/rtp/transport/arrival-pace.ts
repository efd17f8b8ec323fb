/** Seconds between two pictures below which their time stamps tell nothing: no camera takes 250 a second. */
const NO_TIME = 1 / 250;
/** A picture that comes so many times later than its time stamp says is late, and so many in a row are told by a clock that is none. */
const SLOWER = 20;
const LATE = 5;
/** Seconds between pictures below which they come faster than they were taken: a recording sent at once, of which nothing tells the pace. */
const FASTEST = 0.03;
/** What is taken for it: as many cameras record. */
const UNKNOWN = 0.1;
/** Seconds between pictures that came together. */
const LEAST = 0.001;
/** Seconds between the times of the sender and those shown from which on they are two: pictures with one time stamp differ by less. */
const OFF = 0.1;

interface Shown {
  /** By the time stamps. */
  time: number;
  shown: number;
  /** When it came. */
  at: number;
}

/**
 * When pictures are shown, in seconds: as their time stamps say, and as they come where the sender's clock stands still, or runs in
 * milliseconds.
 */
export class ArrivalPace {
  /** What is added to the times of the sender, so that they go on behind a standstill. */
  #shift = 0;
  #last: Shown | undefined;
  /** The last that was in time, and how many are late since. */
  #inTime: Shown | undefined;
  #late = 0;

  /** @param now milliseconds of a steady clock */
  constructor(private readonly now: () => number) {}

  /** Pictures are shown at other times than the sender says: then what it reports of those tells nothing of these. */
  get isOff(): boolean {
    return Math.abs(this.#shift) > OFF;
  }

  /** @param time of the next picture, in the order of decoding, by the time stamps */
  next(time: number): number {
    const at = this.now() / 1000;
    const shown = this.#last === undefined ? time : this.#shownBehind(this.#last, time, at);
    this.#shift = shown - time;
    this.#last = { time, shown, at };
    return shown;
  }

  #shownBehind(last: Shown, time: number, at: number): number {
    const step = Math.abs(time - last.time);
    const isLate = step < NO_TIME || at - last.at >= SLOWER * step;
    this.#late = isLate ? this.#late + 1 : 0;
    if (this.#late <= 1) this.#inTime = last;
    if (step < NO_TIME || this.#late >= LATE) return this.#byArrival(last, at);
    const shift = time > last.shown ? 0 : this.#shift;
    return time + shift;
  }

  #byArrival(last: Shown, at: number): number {
    const { shown, at: since } = this.#inTime ?? last;
    const isTogether = this.#late >= LATE && at - since < FASTEST * this.#late;
    return Math.max(last.shown + (isTogether ? UNKNOWN : LEAST), shown + at - since);
  }
}
