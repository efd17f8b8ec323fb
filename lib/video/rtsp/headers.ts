/** Where the stream of one medium begins. */
export interface RtpInfo {
  url: string;
  sequence?: number;
  rtpTime?: number;
}

/** Where the URL of an entry ends. */
const PARAMETERS = /;\s*(?:seq|rtptime|ssrc)\s*=/i;

/** Parses the `RTP-Info` of an answer to PLAY (RFC 2326, section 12.33). Its URLs may contain commas and semicolons. */
export function rtpInfoIn(header: string | undefined): RtpInfo[] {
  return (header ?? '')
    .split(/,(?=\s*url\s*=)/i)
    .map(entryOf)
    .filter((entry) => entry !== undefined);
}

function entryOf(text: string): RtpInfo | undefined {
  const url = urlIn(text);
  if (url === undefined) return undefined;
  const sequence = numberIn(text, /;\s*seq\s*=\s*(\d{1,5})(?!\d)/i, 2 ** 16);
  const rtpTime = numberIn(text, /;\s*rtptime\s*=\s*(\d{1,10})(?!\d)/i, 2 ** 32);
  return {
    url,
    ...(sequence === undefined ? {} : { sequence }),
    ...(rtpTime === undefined ? {} : { rtpTime }),
  };
}

/** In linear time: each step reads a character once, as a relay may send a header of any content. */
function urlIn(text: string): string | undefined {
  const start = /^\s*url\s*=/i.exec(text)?.[0];
  if (start === undefined) return undefined;
  const [value = ''] = text.slice(start.length).split(PARAMETERS, 1);
  const url = value.trim().replace(/^"/, '').replace(/"$/, '');
  return /[\s"]/.test(url) ? undefined : url;
}

function numberIn(text: string, pattern: RegExp, limit: number): number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined || Number(found) >= limit ? undefined : Number(found);
}

/**
 * The entry of each medium, found by its URL. Servers write these URLs in different ways: the same, the same after the host,
 * the last part alone, or any URL in the order of the media.
 */
export function entriesFor(urls: readonly string[], entries: readonly RtpInfo[]): (RtpInfo | undefined)[] {
  const byUrl = urls.map((url) => entries.find((entry) => isSame(entry.url, url)));
  if (byUrl.some((entry) => entry !== undefined)) return byUrl;
  return entries.length === urls.length ? [...entries] : byUrl;
}

function isSame(said: string, requested: string): boolean {
  if (said === '') return false;
  const [one, other] = [afterHost(said), afterHost(requested)];
  return one === other || other.endsWith(`/${one.replace(/^\//, '')}`);
}

function afterHost(url: string): string {
  return url.replace(/^rtsps?:\/\/[^/]*/i, '').replace(/\/$/, '');
}

/** RFC 2326, section 12.37. */
const DEFAULT_TIMEOUT = 60;
/** Session ids, which are sent back unchanged. */
const ID = /^[\x21-\x3a\x3c-\x7e]{1,256}$/;

interface SessionHeader {
  id: string;
  /** Seconds without a sign of life after which the server ends it. */
  timeout: number;
}

/** @returns undefined where it names no session */
export function sessionIn(header: string | undefined): SessionHeader | undefined {
  const [id = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim());
  if (!ID.test(id)) return undefined;
  const timeout = parameters.map((text) => /^timeout\s*=\s*(\d{1,6})$/i.exec(text)?.[1]).find(Boolean);
  return { id, timeout: Number(timeout ?? 0) || DEFAULT_TIMEOUT };
}

/** Two numbers of interleaved data: packets of a medium, and reports on it (RFC 2326, section 12.39). */
export interface Channels {
  rtp: number;
  rtcp: number;
}

export function transportRequest({ rtp, rtcp }: Channels): string {
  return `RTP/AVP/TCP;unicast;interleaved=${rtp}-${rtcp}`;
}

/**
 * The channels that a server has chosen; the requested ones where it names none.
 * @returns undefined where the server would not send over this connection, or names channels that cannot be
 */
export function chosenChannels(header: string | undefined, requested: Channels): Channels | undefined {
  if (header === undefined) return requested;
  const [protocol = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const interleaved = parameters.find((parameter) => parameter.startsWith('interleaved='));
  if (interleaved === undefined) return protocol.endsWith('/tcp') ? requested : undefined;
  const [, first = '', second] = /^interleaved=(\d{1,3})(?:-(\d{1,3}))?$/.exec(interleaved) ?? [];
  if (first === '') return undefined;
  const channels = { rtp: Number(first), rtcp: second === undefined ? Number(first) + 1 : Number(second) };
  return channels.rtp <= 255 && channels.rtcp <= 255 && channels.rtp !== channels.rtcp ? channels : undefined;
}

/**
 * Hours, minutes and seconds, or seconds alone (RFC 2326, section 3.6); SMPTE adds frames of a second after a colon (section
 * 3.5).
 */
const CLOCK = /^(\d{1,6}):([0-5]?\d):([0-5]?\d(?:\.\d{0,9})?)(?::\d{1,3}(?:\.\d{1,3})?)?$/;
const SECONDS = /^\d{1,9}(?:\.\d{0,9})?$/;
/** Section 3.7. */
const UTC = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d(?:\.\d{0,9})?)Z?$/i;
/**
 * No two neighbouring parts match the same characters: otherwise a relay that sends many blanks would block the process for
 * half a minute.
 */
const RANGE = /^\s*(npt|clock|smpte[\w-]{0,16})\s*=([^-;]*)-([^;]*)/i;

/**
 * How many seconds a `Range`, or an `a=range` of a session description, covers.
 * @returns `Infinity` for live video that says so; undefined where the end is missing or unreadable
 */
export function lengthOfRange(range: string | undefined): number | undefined {
  const [, unit = '', from = '', to = ''] = RANGE.exec(range ?? '') ?? [];
  if (from.trim().toLowerCase() === 'now') return Infinity;
  const read = unit.toLowerCase() === 'clock' ? utcSeconds : seconds;
  const [start, end] = [from.trim() === '' ? 0 : read(from.trim()), read(to.trim())];
  return start === undefined || end === undefined || end < start ? undefined : end - start;
}

function seconds(text: string): number | undefined {
  const [, hours, minutes, rest] = CLOCK.exec(text) ?? [];
  if (hours !== undefined) return Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);
  return SECONDS.test(text) ? Number(text) : undefined;
}

function utcSeconds(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] = UTC.exec(text) ?? [];
  if (year === undefined) return undefined;
  const minutes = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute)) / 1000;
  return minutes + Number(second);
}
