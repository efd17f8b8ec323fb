import { FRAMES_PER_SECOND } from '../../scene/frame-rate';
import type { Footage } from '../../scene/footage';
import type { Sound } from '../../scene/sound';
import { VIDEO_CLOCK, type Programme } from './programme';
import type { TrackName } from './tracks';

/** Payload types in SDP and RTP. */
export const PAYLOAD_TYPES = { video: 96, sound: 97 } as const;

export interface SdpRequest {
  programme: Programme;
  /** Shown by players as the title. */
  title: string;
  /** IP address of the server. */
  address: string;
  /** Seconds of recorded video; absent = live. */
  length?: number;
  /** `a=control` of a track, relative or absolute. */
  trackControl: (track: TrackName) => string;
  /** Parameter sets in the SDP; without them a player has to find them in the stream. */
  parameterSets: boolean;
}

/** Session description (RFC 4566). */
export function describeSession(request: SdpRequest): string {
  const family = request.address.includes(':') ? 'IP6' : 'IP4';
  const { footage, sound } = request.programme;
  const lines = [
    'v=0',
    `o=- 1 1 IN ${family} ${request.address}`,
    `s=${oneLine(request.title)}`,
    `c=IN ${family} ${family === 'IP6' ? '::' : '0.0.0.0'}`,
    't=0 0',
    'a=control:*',
    `a=range:npt=${request.length === undefined ? 'now-' : `0-${request.length}`}`,
    ...videoLines(footage, request),
    ...(sound === undefined ? [] : soundLines(sound, request)),
  ];
  return `${lines.join('\r\n')}\r\n`;
}

function videoLines(footage: Footage, request: SdpRequest): string[] {
  const type = PAYLOAD_TYPES.video;
  const parameters =
    footage.codec === 'h264' ? h264Parameters(footage, request) : h265Parameters(footage, request);
  return [
    `m=video 0 RTP/AVP ${type}`,
    `a=rtpmap:${type} ${footage.codec.toUpperCase()}/${VIDEO_CLOCK}`,
    ...(parameters === '' ? [] : [`a=fmtp:${type} ${parameters}`]),
    `a=framerate:${FRAMES_PER_SECOND}`,
    `a=control:${request.trackControl('track1')}`,
  ];
}

/** RFC 6184, section 8.2.1. */
function h264Parameters({ parameterSets: sets }: Footage, { parameterSets }: SdpRequest): string {
  const profile = (sets[0] ?? Buffer.alloc(4)).toString('hex', 1, 4).toUpperCase();
  const base = `packetization-mode=1;profile-level-id=${profile}`;
  if (!parameterSets) return base;
  return `${base};sprop-parameter-sets=${sets.map((set) => set.toString('base64')).join(',')}`;
}

/** RFC 7798, section 7.2.1. */
function h265Parameters({ parameterSets: sets }: Footage, { parameterSets }: SdpRequest): string {
  if (!parameterSets) return '';
  const names = ['sprop-vps', 'sprop-sps', 'sprop-pps'];
  return sets.map((set, i) => `${names[i]}=${set.toString('base64')}`).join(';');
}

/** RFC 3640, section 4.1, mode AAC-hbr. */
function soundLines({ sampleRate, channels, config }: Sound, { trackControl }: SdpRequest): string[] {
  const type = PAYLOAD_TYPES.sound;
  const mode = 'streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3';
  return [
    `m=audio 0 RTP/AVP ${type}`,
    `a=rtpmap:${type} mpeg4-generic/${sampleRate}/${channels}`,
    `a=fmtp:${type} ${mode};config=${config.toString('hex').toUpperCase()}`,
    `a=control:${trackControl('track2')}`,
  ];
}

// A camera's name comes from outside: a line break in it would forge lines of the description.
function oneLine(text: string): string {
  const line = text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 200);
  return line === '' ? '-' : line;
}
