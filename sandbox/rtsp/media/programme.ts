import type { AccessUnit, Footage } from '../../scene/footage';
import { FRAMES_PER_SECOND, SAMPLES_PER_FRAME, type Sound, type Subject } from '../../scene/packs';

/** RTP clock of video (RFC 6184, section 5.1; RFC 7798, section 4.1). */
export const VIDEO_CLOCK = 90_000;
export const TICKS_PER_PICTURE = VIDEO_CLOCK / FRAMES_PER_SECOND;

/** The video of one camera, and its sound if it has a microphone. */
export class Programme {
  constructor(
    readonly footage: Footage,
    readonly sound: Sound | undefined,
    private readonly subject: Subject,
  ) {}

  picture(number: number): AccessUnit {
    return this.footage.picture(number, this.subject);
  }

  /** Number of the first audio frame that begins at a picture or after it. */
  soundAt(picture: number): number {
    return Math.ceil((picture / FRAMES_PER_SECOND) * (this.sound?.rate ?? 0));
  }

  /** The position of an audio frame as a fractional picture number. */
  pictureAt(soundFrame: number): number {
    return (soundFrame / (this.sound?.rate ?? 1)) * FRAMES_PER_SECOND;
  }

  /** Ticks of the audio clock from a picture to an audio frame. */
  soundTicks(from: number, soundFrame: number): number {
    const begin = (from / FRAMES_PER_SECOND) * (this.sound?.sampleRate ?? 0);
    return Math.round(soundFrame * SAMPLES_PER_FRAME - begin);
  }
}

/** Names of the tracks below the URL of a session. */
export const TRACKS = { track1: 'video', track2: 'sound' } as const;
export type TrackName = keyof typeof TRACKS;

export function isTrackName(text: string | undefined): text is TrackName {
  return text !== undefined && text in TRACKS;
}

/** Payload types in SDP and RTP. */
export const PAYLOAD_TYPES = { video: 96, sound: 97 } as const;

interface SdpRequest {
  programme: Programme;
  /** Players show it as the title. */
  title: string;
  /** IP address of the server. */
  address: string;
  /** Seconds of recorded video; absent = live. */
  length: number | undefined;
  /** `a=control` of a track, relative or absolute. */
  trackControl: (track: TrackName) => string;
  /** True = the SDP contains the parameter sets; false = a player has to find them in the stream. */
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

// The camera's name is untrusted: a line break in it would inject lines into the description.
function oneLine(text: string): string {
  const line = text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 200);
  return line === '' ? '-' : line;
}
