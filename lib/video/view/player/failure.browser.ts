import type { PlayerTexts } from './settings';

/** Why there is no video: a code of the server, or of this player (`CODEC`, `PLAYBACK`, `ENDED`). */
export class PlayFailure extends Error {
  constructor(
    readonly code: string,
    /** What the words about it name, such as a codec. */
    readonly detail = '',
  ) {
    super(code);
  }
}

/** Those where another try, or a picture, would end the same. */
const FINAL: ReadonlySet<string> = new Set(['EXPIRED', 'INVALID', 'NOT_ALLOWED', 'DEVICE_NOT_FOUND']);
/** Those where the video is there, and only this browser cannot show it. */
const OF_BROWSER: ReadonlySet<string> = new Set(['CODEC', 'PLAYBACK']);

export function isFinal({ code }: PlayFailure): boolean {
  return FINAL.has(code);
}

export function isOfBrowser({ code }: PlayFailure): boolean {
  return OF_BROWSER.has(code);
}

/** What happened, in the language of the reader. */
export function wordsFor({ code, detail }: PlayFailure, { fault }: PlayerTexts): string {
  const texts = new Map(Object.entries(fault));
  return (texts.get(code) ?? fault.OTHER).replace('__codec__', detail).replace('__code__', code);
}

/** What the server has answered instead of a video. */
export async function failureOf(response: Response): Promise<PlayFailure> {
  try {
    const body: unknown = await response.json();
    if (typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string')
      return new PlayFailure(body.code);
  } catch {
    // A proxy in between has answered, in its own words.
  }
  return new PlayFailure(response.status === 504 ? 'TIMEOUT' : 'NETWORK');
}

/** Codecs as people know them. */
export function codecNames(mimeType: string): string {
  if (/hvc1|hev1/.test(mimeType)) return 'H.265';
  return /avc[13]/.test(mimeType) ? 'H.264' : mimeType;
}
