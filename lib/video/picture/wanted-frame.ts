import type { VideoFormat, VideoFrame } from '../media';

/** Seconds: time stamps are rounded. What is shown so little after a time is shown at it. */
export const ROUNDING = 0.002;

/** What a decoder must be given for one picture. */
export interface Wanted {
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
