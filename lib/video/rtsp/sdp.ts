import { RvmError } from '../../error';
import type { MediaDescription } from '../media';
import { isReadable } from '../rtp/track-receiver';
import { targetOf } from './relay';

/** One `m=` of a session description. */
interface DescribedMedia {
  kind: 'video' | 'audio';
  /** Whether its packets are not encrypted (RFC 3551); others cannot be read here. */
  isClear: boolean;
  /** Payload formats, in the order of preference. */
  formats: readonly MediaDescription[];
  /** Its `a=control`. */
  control: string | undefined;
}

export interface SessionDescription {
  media: readonly DescribedMedia[];
  /** The `a=control` before all media. */
  control: string | undefined;
  /** The `a=range` before all media. */
  range: string | undefined;
}

/** The port is ignored: packets arrive in the RTSP connection. */
const MEDIA = /^(video|audio)\s+\S{1,32}\s+(\S{1,32})((?:\s+\S{1,32}){1,32})\s*$/;
const RTP_MAP = /^(\d{1,3})\s+([\w.+-]{1,32})\s*\/\s*(\d{1,9})(?:\/(\d{1,3}))?\s*$/;
const FORMAT_PARAMETERS = /^(\d{1,3})\s+(.*)$/;
const CLEAR = /^RTP\/AVPF?(?:\/|$)/i;
const VIDEO_CLOCK = 90_000;

/**
 * Parses the media of a session description (RFC 4566). Only audio and video are read, and unreadable lines are skipped: the
 * text is untrusted.
 * @param most media that are read
 */
export function readDescription(text: string, most: number): SessionDescription {
  const [head = [], ...sections] = sectionsOf(text);
  return {
    media: sections
      .slice(0, most)
      .map(mediaOf)
      .filter((media) => media !== undefined),
    control: attribute(head, 'control'),
    range: attribute(head, 'range'),
  };
}

/** The lines before all media, and those of each medium. */
function sectionsOf(text: string): string[][] {
  const sections: string[][] = [[]];
  for (const line of text.split(/[\r\n]+/)) {
    if (line.startsWith('m=')) sections.push([]);
    sections.at(-1)?.push(line);
  }
  return sections;
}

function mediaOf([first = '', ...lines]: readonly string[]): DescribedMedia | undefined {
  const [, kind, protocol = '', types = ''] = MEDIA.exec(first.slice(2)) ?? [];
  if (kind !== 'video' && kind !== 'audio') return undefined;
  const payloadTypes = new Set(types.trim().split(/\s+/).map(Number));
  return {
    kind,
    isClear: CLEAR.test(protocol),
    formats: [...payloadTypes]
      .map((type) => formatOf(kind, type, lines))
      .filter((format) => format !== undefined),
    control: attribute(lines, 'control'),
  };
}

function formatOf(
  kind: 'video' | 'audio',
  payloadType: number,
  lines: readonly string[],
): MediaDescription | undefined {
  if (!(payloadType <= 127)) return undefined;
  const mapped = mappedFormat(payloadType, lines) ?? STATIC_FORMATS.get(payloadType);
  if (mapped === undefined) return undefined;
  const [encoding, clockRate, channels = 1] = mapped;
  const parameters = parametersOf(payloadType, lines);
  const rate = clockRate === 0 ? VIDEO_CLOCK : clockRate;
  return { kind, payloadType, encoding, clockRate: rate, channels, parameters };
}

function mappedFormat(
  payloadType: number,
  lines: readonly string[],
): [encoding: string, clockRate: number, channels: number] | undefined {
  for (const value of attributes(lines, 'rtpmap')) {
    const [, type, encoding = '', clockRate, channels = '1'] = RTP_MAP.exec(value) ?? [];
    if (Number(type) === payloadType)
      return [encoding.toUpperCase(), Number(clockRate), Number(channels) || 1];
  }
  return undefined;
}

function parametersOf(payloadType: number, lines: readonly string[]): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const value of attributes(lines, 'fmtp')) {
    const [, type, list = ''] = FORMAT_PARAMETERS.exec(value) ?? [];
    if (Number(type) !== payloadType) continue;
    for (const part of list.split(';')) {
      const equals = part.indexOf('=');
      const name = (equals < 0 ? part : part.slice(0, equals)).trim().toLowerCase();
      if (name !== '') parameters.set(name, equals < 0 ? '' : part.slice(equals + 1).trim());
    }
  }
  return parameters;
}

function attribute(lines: readonly string[], name: string): string | undefined {
  return attributes(lines, name)[0];
}

function attributes(lines: readonly string[], name: string): string[] {
  const start = `a=${name}:`;
  return lines.filter((line) => line.startsWith(start)).map((line) => line.slice(start.length).trim());
}

/** Payload types that need no `a=rtpmap` (RFC 3551, section 6): name, clock rate in Hz, channels of audio. */
const STATIC_FORMATS: ReadonlyMap<number, readonly [encoding: string, clockRate: number, channels?: number]> =
  new Map([
    [0, ['PCMU', 8000]],
    [3, ['GSM', 8000]],
    [4, ['G723', 8000]],
    [5, ['DVI4', 8000]],
    [6, ['DVI4', 16_000]],
    [7, ['LPC', 8000]],
    [8, ['PCMA', 8000]],
    [9, ['G722', 8000]],
    [10, ['L16', 44_100, 2]],
    [11, ['L16', 44_100]],
    [12, ['QCELP', 8000]],
    [13, ['CN', 8000]],
    [14, ['MPA', 90_000]],
    [15, ['G728', 8000]],
    [16, ['DVI4', 11_025]],
    [17, ['DVI4', 22_050]],
    [18, ['G729', 8000]],
    [25, ['CELB', 90_000]],
    [26, ['JPEG', 90_000]],
    [28, ['NV', 90_000]],
    [31, ['H261', 90_000]],
    [32, ['MPV', 90_000]],
    [33, ['MP2T', 90_000]],
    [34, ['H263', 90_000]],
  ]);

/** Request URLs of a session: for the whole, and for each medium. */
export interface ControlUrls {
  all: string;
  /** @param control the `a=control` of the medium */
  of: (control: string | undefined) => string;
}

interface Described {
  /** URL of the DESCRIBE request. */
  url: string;
  /** `Content-Base` and `Content-Location` of the answer. */
  contentBase: string | undefined;
  contentLocation: string | undefined;
  /** `a=control` before all media. */
  control: string | undefined;
}

/**
 * By RFC 2326, sections C.1.1 and 12.11. A relative `a=control` is appended to the base, as ffmpeg and live555 do, and not
 * resolved like a link: that would lose the last part of the path, and with it a token in the query, where the base does not
 * end with a slash.
 */
export function controlUrls({ url, contentBase, contentLocation, control }: Described): ControlUrls {
  const base = usable(contentBase) ?? usable(contentLocation) ?? url;
  const all = urlOf(control, base);
  return { all, of: (ofMedia) => urlOf(ofMedia, base) };
}

function urlOf(control: string | undefined, base: string): string {
  if (control === undefined || control === '' || control === '*') return base;
  if (/^rtsps?:/i.test(control)) return usable(control) ?? base;
  const behind = `${base}${base.endsWith('/') ? '' : '/'}${control}`;
  return usable(behind) ?? base;
}

/** Removes a login, which some servers write there and which must not appear in a request line. */
function usable(url: string | undefined): string | undefined {
  return url === undefined ? undefined : targetOf(url)?.url;
}

/** A medium to set up. */
export interface ChosenMedia {
  format: MediaDescription;
  /** Its `a=control`. */
  control: string | undefined;
}

interface MediaChoice {
  video: ChosenMedia;
  audio: ChosenMedia | undefined;
  /** Names of the media that are not set up. */
  leftOut: readonly string[];
}

const ENCRYPTED = 'SRTP';
const UNKNOWN = 'unknown';

/**
 * The first video and the first audio that can be read.
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
