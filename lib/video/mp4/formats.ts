import type { AudioFormat, MediaFrame, VideoFormat } from '../media';

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
