import { maskedStart } from './secret-mask';

/** Of a text of the service or of a flow no more is quoted. */
const MAX_QUOTED = 80;

/** A text of the service in a message: quoted, one short line, RTSP URLs shown as `***`. */
export function shown(text: string): string {
  return `"${shownBare(text, MAX_QUOTED)}"`;
}

/** The same without the quotes, of at most so many characters. */
export function shownBare(text: string, length: number): string {
  return oneLine(maskedStart(text, [], 4 * length), length);
}

/** A text as one line of at most so many characters. */
export function oneLine(text: string, length: number): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, length);
}
