import { RvmError } from '../../error';
import { AacTrack } from './aac/aac-track';
import type { MediaDescription } from './media-description';
import { VideoTrack } from './nal/video-track';
import { aacOf, videoCodecOf } from './readable';
import type { Track } from './track';
import { UnreadableTrack } from './unreadable-track';

const INTERLEAVED =
  'The camera sends the pieces of its pictures out of order, which is not supported: choose another profile of video in the camera.';
const UNKNOWN = 'This kind of video cannot be read: choose H.264 or H.265 in the camera.';

/** Parameters of `a=fmtp` with the parameter sets: H.264 has its own in one (RFC 6184, section 8.1; RFC 7798, section 7.1). */
const SETS = ['sprop-vps', 'sprop-sps', 'sprop-pps', 'sprop-parameter-sets'];
const MOST_SETS = 16;

/**
 * What puts the frames of a medium together.
 * @param now milliseconds of a steady clock
 */
export function trackOf(media: MediaDescription, now: () => number): Track {
  const codec = videoCodecOf(media);
  const aac = aacOf(media);
  if (aac !== undefined) return new AacTrack(aac.config, aac.layout);
  if (codec === undefined) return new UnreadableTrack(new RvmError('VIDEO_FAILED', UNKNOWN));
  if (isInterleaved(media)) return new UnreadableTrack(new RvmError('VIDEO_FAILED', INTERLEAVED));
  return new VideoTrack(codec, setsOf(media), now);
}

/** H.264 in mode 2, H.265 with decoding order numbers. */
function isInterleaved({ encoding, parameters }: MediaDescription): boolean {
  if (encoding === 'H264') return parameters.get('packetization-mode') === '2';
  return Number(parameters.get('sprop-max-don-diff') ?? '0') > 0;
}

function setsOf({ parameters }: MediaDescription): Buffer[] {
  const texts = SETS.flatMap((name) => (parameters.get(name) ?? '').split(','));
  return texts
    .slice(0, MOST_SETS)
    .map((text) => Buffer.from(text, 'base64'))
    .filter(({ length }) => length > 0);
}
