import type { AudioFrame, VideoFrame } from '../media';

/** Seconds: a longer pause of a stream is a jump of its clock, and closed up. */
export const LONGEST_GAP = 10;
/** Seconds by which pictures may be shown earlier than the key frame that they are decoded behind. */
const LONGEST_LEAD = 4;
/** Seconds that a picture is shown where a single one tells no rate. */
const LONE_PICTURE = 0.04;
const LONGEST_INTERVAL = 1;
/** Pictures that are decoded before one that is shown earlier: H.264 and H.265 know no more (max_dec_frame_buffering). */
const MOST_REORDERED = 16;

/**
 * Puts what comes on a clock that begins with the first picture and never runs back past a key frame, whatever the sender does with
 * its own. Pauses stay, up to a bound, and sound keeps its place beside the pictures.
 */
export class Timeline {
  /** What is added to the times of the stream. */
  #offset: number | undefined;
  /** Of all pictures. */
  #latest = 0;
  /** The latest before the newest key frame. No picture behind that frame is shown earlier. */
  #floor = 0;
  #pictures = 0;
  #keys = 0;
  /** How many in a row were shown no later than one before them. */
  #earlier = 0;
  #latestSound = -Infinity;
  /** As of the newest key frame, before which no picture of those decoded is lacking. */
  #settledInterval: number | undefined;

  /** Seconds from one picture to the next, on the whole. */
  get interval(): number {
    return this.#settledInterval ?? this.#meanInterval() ?? LONE_PICTURE;
  }

  /** When a picture is shown, in seconds; undefined for one that cannot be decoded, for nothing it leans on was there. */
  picture({ time, key }: VideoFrame): number | undefined {
    if (this.#offset === undefined && (!key || !Number.isFinite(time))) return undefined;
    this.#offset ??= -time;
    const placed = time + this.#offset;
    if (this.#leansOnNothing(placed)) return undefined;
    const shown = this.#pictures === 0 || this.#follows(placed, key) ? placed : this.#closedUp(time);
    if (key) this.#beginGroup();
    this.#earlier = shown > this.#latest ? 0 : this.#earlier + 1;
    this.#latest = Math.max(this.#latest, shown);
    this.#pictures += 1;
    return shown;
  }

  /** When sound is heard, in seconds; undefined for what lies before the first picture, or where the clock has jumped. */
  sound({ time }: AudioFrame): number | undefined {
    if (this.#offset === undefined) return undefined;
    const heard = time + this.#offset;
    const isFit = heard >= 0 && heard > this.#latestSound && heard <= this.#latest + LONGEST_GAP;
    if (!isFit) return undefined;
    this.#latestSound = heard;
    return heard;
  }

  /** Shown before the first key frame, decoded behind it: they lean on pictures before it. */
  #leansOnNothing(placed: number): boolean {
    return this.#keys === 1 && placed < 0 && placed >= -LONGEST_LEAD;
  }

  #beginGroup(): void {
    this.#settledInterval = this.#meanInterval();
    this.#floor = this.#latest;
    this.#keys += 1;
  }

  #meanInterval(): number | undefined {
    if (this.#pictures < 2) return undefined;
    return Math.min(this.#latest / (this.#pictures - 1), LONGEST_INTERVAL);
  }

  #follows(placed: number, key: boolean): boolean {
    // What leans on a key frame is shown behind all that was decoded before it.
    const isBehind = key ? placed > this.#latest : placed >= this.#floor;
    const standsStill = placed <= this.#latest && this.#earlier >= MOST_REORDERED;
    return isBehind && !standsStill && placed <= this.#latest + LONGEST_GAP;
  }

  #closedUp(time: number): number {
    const shown = this.#latest + this.interval;
    if (Number.isFinite(time)) this.#offset = shown - time;
    return shown;
  }
}
