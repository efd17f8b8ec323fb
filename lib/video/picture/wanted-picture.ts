import { RvmError } from '../../error';
import { FARTHEST_OFFSET_S, MOST_OFFSETS, NARROWEST_PICTURE, WIDEST_PICTURE } from '../../limits';
import { plural } from '../../text';
import type { VideoFormat, VideoFrame } from '../media';

/** Seconds with a sign and a decimal point, and nothing that only a program would write, such as `1e3`. */
const NUMBER = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)$/;
const EXAMPLE = 'write one such as 0, or several such as -3, 0, 3';

/**
 * The times that a user wants pictures of: a number, or numbers separated by commas.
 * @returns seconds relative to the start of the alarm, in the order in which they stand there; at least one
 * @throws RvmError BAD_INPUT
 */
export function offsetsIn(value: unknown): number[] {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') throw badOffsets(`The offsets are no text: ${EXAMPLE}.`);
  if (text.trim() === '') throw badOffsets(`There is no offset: ${EXAMPLE}.`);
  // One too many is enough to know, however long the text is.
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
  // Not the zero with a sign, which some print.
  return offset === 0 ? 0 : offset;
}

function badOffsets(message: string): RvmError {
  return new RvmError('BAD_INPUT', message);
}

/**
 * The width that a user wants a picture to have at most.
 * @returns pixels; undefined for nothing or an empty text: as wide as the video
 * @throws RvmError BAD_INPUT for anything else than a whole number within the bounds
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

/** Seconds: time stamps are rounded. What is shown so little after a time is shown at it. */
export const ROUNDING = 0.002;

/** What a decoder must be given for one picture. */
interface Wanted {
  codec: VideoFormat['codec'];
  /** A key frame, then all that the wanted one may need, and it itself last: in the order of decoding. */
  frames: readonly VideoFrame[];
  /** How many of them are shown before the wanted one. */
  before: number;
}

/**
 * The frame that is on the screen at a time: the last one shown at or before it; where all are later, the first.
 * @param frames in the order of decoding
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
 * Pictures that are decoded after a key frame and shown before it may need what came before that key frame: a decoder that begins
 * there leaves them out, or not, and nothing behind them needs them (leading pictures: ITU-T H.265, section 3; open GOPs of H.264).
 */
function isNotLed(key: VideoFrame | undefined): (frame: VideoFrame) => boolean {
  return ({ time }) => key === undefined || time >= key.time;
}

/** Of several that are shown at the same time, the one that was decoded last. */
function shownAt(frames: readonly VideoFrame[], time: number): VideoFrame | undefined {
  let [shown] = frames;
  for (const frame of frames)
    if (shown !== undefined && frame.time <= time + ROUNDING && frame.time >= shown.time) shown = frame;
  return shown;
}
