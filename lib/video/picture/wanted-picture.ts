import { RvmError } from '../../error';
import { FARTHEST_OFFSET_S, MOST_OFFSETS, NARROWEST_PICTURE, WIDEST_PICTURE } from '../../limits';
import { plural } from '../../text';
import type { VideoFormat, VideoFrame } from '../media';

/** Seconds with optional sign and decimal point; no exponents such as `1e3`. */
const NUMBER = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)$/;
const EXAMPLE = 'write one such as 0, or several such as -3, 0, 3';

/**
 * Parses the offsets entered by a user: a number, or numbers separated by commas.
 * @returns seconds relative to the start of the alarm, in the order entered; at least one
 * @throws RvmError BAD_INPUT
 */
export function offsetsIn(value: unknown): number[] {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') throw badOffsets(`The offsets are no text: ${EXAMPLE}.`);
  if (text.trim() === '') throw badOffsets(`There is no offset: ${EXAMPLE}.`);
  // The limit bounds the work for a long text; one part too many is enough to refuse it.
  const parts = text.split(',', MOST_OFFSETS + 1);
  if (parts.length > MOST_OFFSETS)
    throw badOffsets(`There are more than ${plural(MOST_OFFSETS, 'offset')}: leave some out.`);
  return parts.map((part) => offsetIn(part.trim()));
}

function offsetIn(text: string): number {
  if (!NUMBER.test(text))
    throw badOffsets(`Each offset must be a number of seconds, separated by commas: ${EXAMPLE}.`);
  const offset = Number(text);
  if (Math.abs(offset) > FARTHEST_OFFSET_S)
    throw badOffsets(`Each offset must be from -${FARTHEST_OFFSET_S} to ${FARTHEST_OFFSET_S} seconds.`);
  // Never -0, which some code prints with its sign.
  return offset === 0 ? 0 : offset;
}

function badOffsets(message: string): RvmError {
  return new RvmError('BAD_INPUT', message);
}

/**
 * Parses the largest width of a picture entered by a user.
 * @returns pixels; undefined for nothing or an empty text: as wide as the video
 * @throws RvmError BAD_INPUT for anything but a whole number within the bounds
 */
export function pictureWidthIn(value: unknown): number | undefined {
  if (value === undefined || value === null || (typeof value === 'string' && value.trim() === ''))
    return undefined;
  const width = typeof value === 'string' && /^\s*\d+\s*$/.test(value) ? Number(value) : value;
  if (Number.isInteger(width) && Number(width) >= NARROWEST_PICTURE && Number(width) <= WIDEST_PICTURE)
    return Number(width);
  throw new RvmError(
    'BAD_INPUT',
    `The width of a picture must be a whole number from ${NARROWEST_PICTURE} to ${WIDEST_PICTURE}, or empty for the width of the video.`,
  );
}

/** Seconds, because time stamps are rounded: a picture shown this little after a time counts as shown at it. */
export const ROUNDING = 0.002;

/** The input of a decoder for one picture. */
interface Wanted {
  codec: VideoFormat['codec'];
  /** In decoding order: a key frame, all frames that the wanted one may need, and the wanted one last. */
  frames: readonly VideoFrame[];
  /** Number of these frames shown before the wanted one. */
  before: number;
}

/**
 * The frame on the screen at a time: the last one shown at or before it; where all are later, the first.
 * @param frames in decoding order
 * @param time on the clock of the frames
 * @returns undefined where there is no key frame
 */
export function wantedAt(frames: readonly VideoFrame[], time: number): Wanted | undefined {
  const first = frames.findIndex(({ key }) => key);
  const decodable = frames.slice(first).filter(isNotLed(frames[first]));
  const wanted = shownAt(decodable, time);
  if (first < 0 || wanted === undefined) return undefined;
  const needed = decodable.slice(0, decodable.indexOf(wanted) + 1);
  const start = needed.findLastIndex(({ key, time: shown }) => key && shown <= wanted.time);
  const fed = needed.slice(start).filter(isNotLed(needed[start]));
  const before = fed.filter((frame) => frame !== wanted && frame.time <= wanted.time).length;
  return { codec: wanted.format.codec, frames: fed, before };
}

/**
 * Excludes leading pictures, which are decoded after a key frame and shown before it: they may need frames from before it, so a
 * decoder that starts there may or may not output them, and no later picture needs them (ITU-T H.265, section 3; open GOPs of
 * H.264).
 */
function isNotLed(key: VideoFrame | undefined): (frame: VideoFrame) => boolean {
  return ({ time }) => key === undefined || time >= key.time;
}

/** Of several pictures shown at the same time, the one decoded last. */
function shownAt(frames: readonly VideoFrame[], time: number): VideoFrame | undefined {
  let [shown] = frames;
  for (const frame of frames)
    if (shown !== undefined && frame.time <= time + ROUNDING && frame.time >= shown.time) shown = frame;
  return shown;
}
