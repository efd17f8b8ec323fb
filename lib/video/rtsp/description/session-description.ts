import type { MediaDescription } from '../../rtp/media-description';
import { STATIC_FORMATS } from './static-formats';

/** One `m=` of a session description. */
export interface DescribedMedia {
  kind: 'video' | 'audio';
  /** Whether its packets are sent in clear (RFC 3551), as all are that can be read here. */
  isClear: boolean;
  /** The ways in which it may be sent, in the order of preference. */
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

/** The port, whatever it says, tells nothing where packets come in the connection. */
const MEDIA = /^(video|audio)\s+\S{1,32}\s+(\S{1,32})((?:\s+\S{1,32}){1,32})\s*$/;
const RTP_MAP = /^(\d{1,3})\s+([\w.+-]{1,32})\s*\/\s*(\d{1,9})(?:\/(\d{1,3}))?\s*$/;
const FORMAT_PARAMETERS = /^(\d{1,3})\s+(.*)$/;
const CLEAR = /^RTP\/AVPF?(?:\/|$)/i;
const VIDEO_CLOCK = 90_000;

/**
 * Reads a session description (RFC 4566), as far as it tells what is sent and how. Sound and pictures alone are taken up, and lines
 * that cannot be read are passed over: it comes from outside.
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
