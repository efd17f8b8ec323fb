import type { AudioFormat, AudioFrame, MediaFrame, VideoFormat, VideoFrame } from '../media';

/** Seconds: a longer pause of a stream is a jump of its clock, and closed up. */
const LONGEST_GAP = 10;
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

/** Whether one decoder set up once reads both: a session that was opened anew describes the same video in another object. */
export function isSameVideo(one: VideoFormat, other: VideoFormat): boolean {
  return one === other || (one.codec === other.codec && one.description.equals(other.description));
}

/** Whether their pictures may lie in one track: then a decoder that is told the other parameter sets goes on. */
export function isAlike(one: VideoFormat, other: VideoFormat): boolean {
  const isSize = one.width === other.width && one.height === other.height;
  return one.codec === other.codec && isSize && profileOf(one) === profileOf(other);
}

/** The name of the codec without level and constraints. */
function profileOf({ codec, codecString }: VideoFormat): string | undefined {
  const pattern = codec === 'h264' ? /^\w+\.[\dA-F]{2}/i : /^\w+\.\w+/;
  return pattern.exec(codecString)?.[0];
}

export function isSameAudio(one: AudioFormat, other: AudioFormat): boolean {
  return one === other || one.description.equals(other.description);
}

/** Fields for the size of a picture have 16 bits (ISO/IEC 14496-12, section 12.1.3). */
const LARGEST_SIDE = 0xffff;
/** Those of AAC (ISO/IEC 14496-3, section 1.6.3); rates in Hz. */
const HIGHEST_RATE = 96_000;
const MOST_CHANNELS = 8;

/** Whether an MP4 can say how the frame is to be decoded: a stranger may describe whatever he likes. */
export function isPlayable({ format }: MediaFrame): boolean {
  if ('width' in format) return isWithin(format.width, LARGEST_SIDE) && isWithin(format.height, LARGEST_SIDE);
  return isWithin(format.sampleRate, HIGHEST_RATE) && isWithin(format.channels, MOST_CHANNELS);
}

/** Pixels of a side of what is shown, were they square (`tkhd`: ISO/IEC 14496-12, section 8.3.2). */
export function shownWidth({ width, pixelAspect }: VideoFormat): number {
  return pixelAspect === undefined
    ? width
    : Math.min(LARGEST_SIDE, (width * pixelAspect.across) / pixelAspect.down);
}

function isWithin(value: number, most: number): boolean {
  return Number.isInteger(value) && value > 0 && value <= most;
}

/** Bytes of the length before each NAL unit, as every `avcC` and `hvcC` of ours says. */
const LENGTH = 4;

/** Bytes of a picture as it lies in an MP4. */
export function sizeOf({ nals }: VideoFrame): number {
  return nals.reduce((sum, nal) => sum + LENGTH + nal.length, 0);
}

/** A picture as it lies in an MP4: each NAL unit behind its length (ISO/IEC 14496-15, section 5.2.3). */
export function lengthPrefixed(frame: VideoFrame): Buffer {
  const sample = Buffer.allocUnsafe(sizeOf(frame));
  let at = 0;
  for (const nal of frame.nals) {
    at = sample.writeUInt32BE(nal.length, at);
    at += nal.copy(sample, at);
  }
  return sample;
}
