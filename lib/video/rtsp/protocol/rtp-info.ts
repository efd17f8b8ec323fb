/** Where the stream of one medium begins. */
export interface RtpInfo {
  url: string;
  sequence?: number;
  rtpTime?: number;
}

/** Where the URL of an entry ends. */
const PARAMETERS = /;\s*(?:seq|rtptime|ssrc)\s*=/i;

/**
 * What an answer to PLAY says of its media (RFC 2326, section 12.33). URLs in it may hold commas and semicolons.
 */
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

/** In steps that each look at a character once: a header is as long, and as odd, as a relay likes. */
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
 * Of each medium, by its URL, what is said of it. Servers write these URLs as they like: the same, the same after the host, the
 * last part alone, or in the order of the media.
 */
export function entriesFor(urls: readonly string[], entries: readonly RtpInfo[]): (RtpInfo | undefined)[] {
  const byUrl = urls.map((url) => entries.find((entry) => isSame(entry.url, url)));
  if (byUrl.some((entry) => entry !== undefined)) return byUrl;
  return entries.length === urls.length ? [...entries] : byUrl;
}

function isSame(said: string, asked: string): boolean {
  if (said === '') return false;
  const [one, other] = [afterHost(said), afterHost(asked)];
  return one === other || other.endsWith(`/${one.replace(/^\//, '')}`);
}

function afterHost(url: string): string {
  return url.replace(/^rtsps?:\/\/[^/]*/i, '').replace(/\/$/, '');
}
