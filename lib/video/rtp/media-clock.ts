/**
 * A larger step, in seconds, means that the sender's clock was set or restarted: no intact stream pauses for as long. The time
 * then continues from its last value, as it does after a smaller step backwards.
 */
const LEAP = 10;
/**
 * Seconds that the first packet may be from second 0: a recording begins with the key frame before it, and key frames may be
 * rare.
 */
const NEAR = 60;
/**
 * Seconds that the first packet may be after second 0 if that is announced as time stamp 0: senders that do not know the time
 * stamp also write 0.
 */
const NEAR_ZERO = 1;

/** One moment on the sender's wall clock and on its RTP clock. */
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

/** Converts RTP time stamps, 32 bits that wrap and start anywhere, to seconds (RFC 3550, section 5.1). */
export class RtpClock {
  #reference: { rtpTime: number; ticks: number } | undefined;
  #highest = 0;
  /** The highest before that. A reordered picture lies between the two, nowhere else. */
  #settled = -Infinity;
  /** The clock before its last jump, for a while: the time stamps may return to it. */
  #former: Line | undefined;
  /** The last step forwards, which is repeated where the time stamps are unusable. */
  #step = 1;
  #isAnother = false;
  #pending: WallPoint | undefined;
  #anchor: { seconds: number; wallMs: number } | undefined;

  /**
   * @param rate RTP ticks per second
   * @param startTime time stamp of second 0; where it is missing or far from the first packet, that of the
   *   first packet
   */
  constructor(
    private readonly rate: number,
    private readonly startTime: number | undefined,
  ) {}

  /** Seconds of the next packet. */
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

  /**
   * The sender's wall clock at a time of the stream, in milliseconds since 1970; undefined before a report, and after a jump
   * until the next one.
   */
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

  /**
   * Ticks on the clock before the jump, if the time stamps have returned to it.
   * @param ticks the value otherwise
   */
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

  /** Repeats the last step: the time stamps are unusable. */
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

  /** Converts the point at once: later the reference may have wrapped away from it. */
  #anchorPending(): void {
    if (this.#pending === undefined || this.#reference === undefined) return;
    const { rtpTime, wallMs } = this.#pending;
    const ticks = this.#reference.ticks + signed32(rtpTime - this.#reference.rtpTime);
    this.#anchor = { seconds: ticks / this.rate, wallMs };
    this.#pending = undefined;
  }
}

/** Difference of 32-bit time stamps, to the nearer side. */
function signed32(difference: number): number {
  return difference | 0;
}

/** Seconds: time stamps of two pictures closer than this are unusable, for no camera takes 250 a second. */
const NO_TIME = 1 / 250;
/**
 * A picture is late if it arrives after this many times the step of its time stamp. `LATE` such pictures in a row mean that the
 * sender's clock is unusable.
 */
const SLOWER = 20;
const LATE = 5;
/**
 * Seconds: pictures at shorter intervals arrive faster than they were taken, as when a recording is sent at once. Their pace is
 * then unknown.
 */
const FASTEST = 0.03;
/** Seconds between the pictures of such a recording: many cameras record at this pace. */
const UNKNOWN = 0.1;
/** Seconds between pictures that arrive together. */
const LEAST = 0.001;
/** Seconds between shown times and the sender's beyond which they differ: equal time stamps cause less. */
const OFF = 0.1;

interface Shown {
  /** Seconds by the time stamps. */
  time: number;
  shown: number;
  /** Seconds of arrival. */
  at: number;
}

/**
 * Computes when pictures are shown, in seconds: by their time stamps, or by their arrival where the sender's clock stands still
 * or runs in milliseconds.
 */
export class ArrivalPace {
  /** Seconds added to the sender's times, so that they continue after a standstill. */
  #shift = 0;
  #last: Shown | undefined;
  /** The last picture in time, and the number of late ones since. */
  #inTime: Shown | undefined;
  #late = 0;

  /** @param now monotonic clock in milliseconds */
  constructor(private readonly now: () => number) {}

  /** Shown times are not the sender's, so its reports do not apply to them. */
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
