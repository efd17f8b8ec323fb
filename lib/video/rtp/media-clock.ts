/**
 * Seconds between two packets beyond which the sender's clock was set, or it started anew: no stream is whole that pauses for
 * as long. From there on the time goes on where it was, as it does where the clock is set back by less.
 */
const LEAP = 10;
/** As far from second 0 the first packet may be: a recording begins with the key frame before it, and some have few. */
const NEAR = 60;
/** As far behind a second 0 that is announced as time stamp 0, which is also what those write who do not know it. */
const NEAR_ZERO = 1;

/** A point that the wall clock of the sender and its RTP clock have in common. */
interface WallPoint {
  /** Milliseconds since 1970. */
  wallMs: number;
  rtpTime: number;
}

interface Line {
  rtpTime: number;
  ticks: number;
  anchor: { seconds: number; wallMs: number } | undefined;
}

/** Seconds of a stream from the 32-bit time stamps of its packets, which wrap and start anywhere (RFC 3550, section 5.1). */
export class RtpClock {
  #reference: { rtpTime: number; ticks: number } | undefined;
  #highest = 0;
  /** The highest before that. What is shown earlier than it was decoded fills the hole between both, and lies nowhere else. */
  #settled = -Infinity;
  /** Where the clock was before its last step, for a while: it may have been off, and come back. */
  #former: Line | undefined;
  /** The last step forwards: what a step is taken to be where the time stamps do not tell. */
  #step = 1;
  #isAnother = false;
  #pending: WallPoint | undefined;
  #anchor: { seconds: number; wallMs: number } | undefined;

  /**
   * @param rate ticks in a second
   * @param startTime the time stamp of second 0; where it is missing, or no packet begins near it, that is the first packet's
   */
  constructor(
    private readonly rate: number,
    private readonly startTime: number | undefined,
  ) {}

  /** The time of the next packet. */
  at(rtpTime: number): number {
    const ticks = this.#ticksOf(rtpTime);
    if (ticks > this.#highest) {
      this.#step = ticks - this.#highest;
      if (this.#reference !== undefined) this.#settled = this.#highest;
      this.#highest = ticks;
    }
    this.#reference = { rtpTime, ticks };
    this.#anchorPending();
    return ticks / this.rate;
  }

  /** The next packet is of another source, whose time stamps begin anywhere. */
  anotherSource(): void {
    this.#isAnother = this.#reference !== undefined;
    this.#forgetWall();
  }

  setWall(point: WallPoint): void {
    this.#pending = point;
    if (!this.#isAnother) this.#anchorPending();
  }

  /** Milliseconds since 1970 at a time of the stream, by the sender; undefined before it told. */
  wallClock(seconds: number): number | undefined {
    return this.#anchor && this.#anchor.wallMs + (seconds - this.#anchor.seconds) * 1000;
  }

  #ticksOf(rtpTime: number): number {
    const reference = this.#reference;
    if (reference === undefined) return this.#firstTicks(rtpTime);
    if (this.#isAnother) return this.#goneOn();
    const step = signed32(rtpTime - reference.rtpTime);
    if (step === 0) return reference.ticks;
    const ticks = reference.ticks + step;
    const isLikely = Math.abs(step) <= LEAP * this.rate && ticks >= this.#settled;
    const back = this.#returned(rtpTime, isLikely ? ticks : Infinity);
    if (back !== undefined) return back;
    if (isLikely) return ticks;
    this.#former = { ...reference, anchor: this.#anchor };
    this.#forgetWall();
    return this.#goneOn();
  }

  /** Some pictures were off, and the next goes on where those before them were. @param ticks what it would be otherwise */
  #returned(rtpTime: number, ticks: number): number | undefined {
    const former = this.#former;
    if (former === undefined) return undefined;
    const back = former.ticks + signed32(rtpTime - former.rtpTime);
    const longest = LEAP * this.rate;
    if (this.#highest - former.ticks > longest) this.#former = undefined;
    if (back < this.#settled || back >= ticks || back - this.#highest > longest) return undefined;
    this.#former = undefined;
    this.#anchor = former.anchor;
    return back;
  }

  /** The time stamps do not tell. */
  #goneOn(): number {
    this.#isAnother = false;
    return this.#highest + this.#step;
  }

  #firstTicks(rtpTime: number): number {
    const ticks = this.startTime === undefined ? 0 : signed32(rtpTime - this.startTime);
    const latest = this.startTime === 0 ? NEAR_ZERO : NEAR;
    const first = ticks >= -NEAR * this.rate && ticks <= latest * this.rate ? ticks : 0;
    this.#highest = first;
    return first;
  }

  #forgetWall(): void {
    this.#pending = undefined;
    this.#anchor = undefined;
  }

  /** At once, for a reference wraps away from it. */
  #anchorPending(): void {
    if (this.#pending === undefined || this.#reference === undefined) return;
    const { rtpTime, wallMs } = this.#pending;
    const ticks = this.#reference.ticks + signed32(rtpTime - this.#reference.rtpTime);
    this.#anchor = { seconds: ticks / this.rate, wallMs };
    this.#pending = undefined;
  }
}

/** A difference of time stamps that wrap, to the nearer side. */
function signed32(difference: number): number {
  return difference | 0;
}

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
