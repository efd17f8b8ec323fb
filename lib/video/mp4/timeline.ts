import type { AudioFormat, AudioFrame, MediaFrame, VideoFormat, VideoFrame } from '../media';

/** Seconds: a longer gap is a jump of the clock and is removed. */
const LONGEST_GAP = 10;
/** Seconds by which pictures may be shown before the key frame that they are decoded after. */
const LONGEST_LEAD = 4;
/** Seconds that a single picture is shown: its rate is unknown. */
const LONE_PICTURE = 0.04;
const LONGEST_INTERVAL = 1;
/** Most pictures decoded before one that is shown earlier (max_dec_frame_buffering of H.264 and H.265). */
const MOST_REORDERED = 16;

/**
 * Maps frames to a clock that begins with the first picture and never runs back past a key frame, whatever the sender's clock
 * does. Gaps up to a limit are preserved, and audio stays in sync with the pictures.
 */
export class Timeline {
  /** Seconds added to the times of the stream. */
  #offset: number | undefined;
  /** Latest time of all pictures. */
  #latest = 0;
  /** Latest time before the newest key frame. No later picture is shown earlier. */
  #floor = 0;
  #pictures = 0;
  #keys = 0;
  /** Consecutive pictures shown no later than one before them. */
  #earlier = 0;
  #latestSound = -Infinity;
  /** Mean interval at the newest key frame: all pictures shown before it are decoded, so none is missing. */
  #settledInterval: number | undefined;

  /** Mean seconds from one picture to the next. */
  get interval(): number {
    return this.#settledInterval ?? this.#meanInterval() ?? LONE_PICTURE;
  }

  /** When a picture is shown, in seconds; undefined where its references are missing. */
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

  /** When audio is heard, in seconds; undefined before the first picture and where the clock has jumped. */
  sound({ time }: AudioFrame): number | undefined {
    if (this.#offset === undefined) return undefined;
    const heard = time + this.#offset;
    const isFit = heard >= 0 && heard > this.#latestSound && heard <= this.#latest + LONGEST_GAP;
    if (!isFit) return undefined;
    this.#latestSound = heard;
    return heard;
  }

  /** Shown before the first key frame but decoded after it: references pictures that are missing. */
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
    // Pictures after a key frame are shown after all that were decoded before it.
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

/** Whether one decoder configuration fits both: a reopened session has another object for the same video. */
export function isSameVideo(one: VideoFormat, other: VideoFormat): boolean {
  return one === other || (one.codec === other.codec && one.description.equals(other.description));
}

/** Whether pictures of both may be in one track: a decoder continues with the other parameter sets. */
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
/** Limits of AAC (ISO/IEC 14496-3, section 1.6.3); the rate is in Hz. */
const HIGHEST_RATE = 96_000;
const MOST_CHANNELS = 8;

/** Whether an MP4 can represent the format of the frame: the relay's description is untrusted. */
export function isPlayable({ format }: MediaFrame): boolean {
  if ('width' in format) return isWithin(format.width, LARGEST_SIDE) && isWithin(format.height, LARGEST_SIDE);
  return isWithin(format.sampleRate, HIGHEST_RATE) && isWithin(format.channels, MOST_CHANNELS);
}

/** Displayed width in square pixels (`tkhd`: ISO/IEC 14496-12, section 8.3.2). */
export function shownWidth({ width, pixelAspect }: VideoFormat): number {
  return pixelAspect === undefined
    ? width
    : Math.min(LARGEST_SIDE, (width * pixelAspect.across) / pixelAspect.down);
}

function isWithin(value: number, most: number): boolean {
  return Number.isInteger(value) && value > 0 && value <= most;
}

/** Bytes of the length before each NAL unit, as stated in every `avcC` and `hvcC` that is written. */
const LENGTH = 4;

/** Bytes of a picture in an MP4. */
export function sizeOf({ nals }: VideoFrame): number {
  return nals.reduce((sum, nal) => sum + LENGTH + nal.length, 0);
}

/** A picture in the form of an MP4: each NAL unit after its length (ISO/IEC 14496-15, section 5.2.3). */
export function lengthPrefixed(frame: VideoFrame): Buffer {
  const sample = Buffer.allocUnsafe(sizeOf(frame));
  let at = 0;
  for (const nal of frame.nals) {
    at = sample.writeUInt32BE(nal.length, at);
    at += nal.copy(sample, at);
  }
  return sample;
}
