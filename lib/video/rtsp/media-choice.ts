import { RvmError } from '../../error';
import type { MediaDescription } from '../rtp/media-description';
import { isReadable } from '../rtp/readable';
import type { DescribedMedia } from './description/session-description';

/** One medium that is taken. */
export interface ChosenMedia {
  format: MediaDescription;
  /** Its `a=control`. */
  control: string | undefined;
}

export interface MediaChoice {
  video: ChosenMedia;
  audio: ChosenMedia | undefined;
  /** Names of what is not taken. */
  leftOut: string[];
}

const ENCRYPTED = 'SRTP';
const UNKNOWN = 'unknown';

/**
 * The first video and the first sound that can be read.
 * @throws RvmError VIDEO_FAILED where there is no such video
 */
export function chooseMedia(media: readonly DescribedMedia[]): MediaChoice {
  const video = firstReadable(media, 'video');
  const audio = firstReadable(media, 'audio');
  if (video === undefined) throw noVideo(media.filter(({ kind }) => kind === 'video').map(nameOf));
  const leftOut = media.filter((each) => each !== video.media && each !== audio?.media).map(nameOf);
  return { video: video.chosen, audio: audio?.chosen, leftOut };
}

function firstReadable(
  media: readonly DescribedMedia[],
  kind: 'video' | 'audio',
): { media: DescribedMedia; chosen: ChosenMedia } | undefined {
  for (const each of media) {
    const format = each.kind === kind && each.isClear ? each.formats.find(isReadable) : undefined;
    if (format !== undefined) return { media: each, chosen: { format, control: each.control } };
  }
  return undefined;
}

function nameOf({ isClear, formats: [first] }: DescribedMedia): string {
  if (!isClear) return ENCRYPTED;
  return first?.encoding ?? UNKNOWN;
}

function noVideo(names: readonly string[]): RvmError {
  return new RvmError(
    'VIDEO_FAILED',
    names.length === 0
      ? 'The video relay describes no video; try again, or look at the camera.'
      : `The camera sends its video as ${names.join(', ')}, which this package does not read: set it to H.264 or H.265.`,
  );
}
