import { auLayoutOf, type AuLayout } from './aac/au-layout';
import { readAudioConfig, type AudioConfig } from './aac/audio-config';
import type { MediaDescription } from './media-description';
import type { VideoCodec } from './nal/video-codec';
import { h264 } from './h264/h264';
import { h265 } from './h265/h265';

const VIDEO_CODECS: ReadonlyMap<string, VideoCodec> = new Map([
  ['H264', h264],
  ['H265', h265],
]);
/** Of RFC 3640: low and high bit rate. */
const AAC_MODES = ['aac-lbr', 'aac-hbr'];

/** Whether a `TrackReceiver` can make frames of it: H.264, H.265, and AAC as in RFC 3640. */
export function isReadable(media: MediaDescription): boolean {
  return videoCodecOf(media) !== undefined || aacOf(media) !== undefined;
}

export function videoCodecOf({ kind, encoding, clockRate }: MediaDescription): VideoCodec | undefined {
  return kind === 'video' && clockRate > 0 ? VIDEO_CODECS.get(encoding) : undefined;
}

export function aacOf(media: MediaDescription): { config: AudioConfig; layout: AuLayout } | undefined {
  const { kind, encoding, clockRate, parameters, channels } = media;
  if (kind !== 'audio' || encoding !== 'MPEG4-GENERIC' || clockRate <= 0) return undefined;
  if (!AAC_MODES.includes((parameters.get('mode') ?? '').toLowerCase())) return undefined;
  const config = readAudioConfig(Buffer.from(parameters.get('config') ?? '', 'hex'), channels);
  const layout = auLayoutOf(parameters);
  return config && layout && { config, layout };
}
