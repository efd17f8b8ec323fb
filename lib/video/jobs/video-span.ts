import { wantedTime } from '../../cloud/functions/rtsp';
import type { RtspWanted } from '../../cloud/calls';
import { RvmError } from '../../error';
import type { VideoSource } from '../sessions/video-source';

/** Milliseconds: clocks of two machines are hardly ever nearer. */
const CLOCKS = 5000;

/** The same camera from a time some seconds later on; live video is live. */
export function later(source: VideoSource, seconds: number): VideoSource {
  const { wanted } = source;
  if (wanted.mode === 'live' || seconds === 0) return source;
  return { ...source, wanted: { ...wanted, preRoll: wanted.preRoll - seconds } };
}

/**
 * When what is wanted begins, in milliseconds since 1970; undefined for live video. Asked before anything is opened.
 * @throws RvmError BAD_INPUT for a time that cannot be read, and for a chosen one in the future
 */
export function startOf(wanted: RtspWanted, now: number): number | undefined {
  const time = wantedTime(wanted);
  if (wanted.mode !== 'recorded' || time === undefined || time <= now + CLOCKS) return time;
  throw new RvmError(
    'BAD_INPUT',
    'The time of the recorded video lies in the future: give one that is past, or choose live video.',
  );
}
