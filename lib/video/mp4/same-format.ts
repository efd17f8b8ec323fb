import type { AudioFormat, VideoFormat } from '../media';

/** Whether one decoder set up once reads both: a session that was opened anew describes the same video in another object. */
export function isSameVideo(one: VideoFormat, other: VideoFormat): boolean {
  return one === other || (one.codec === other.codec && one.description.equals(other.description));
}

export function isSameAudio(one: AudioFormat, other: AudioFormat): boolean {
  return one === other || one.description.equals(other.description);
}
