import { CharacterSearch } from './character-search';

const [QUOTE, BACKSLASH] = ['"'.charCodeAt(0), '\\'.charCodeAt(0)];
const UNICODE = 'u'.charCodeAt(0);
const [ZERO, NINE, LETTER_A, LETTER_F] = [0x30, 0x39, 0x61, 0x66];
const END_OR_ESCAPE = new CharacterSearch(/["\\]/);
const NO_SPACE = new CharacterSearch(/[^ \t\n\r]/);
/** So many characters without an escape are the beginning of a long way: where escapes are dense, a search for each takes longer. */
const MANY = 16;

/** End of the string literal that begins at `start`; the end of the text where it is not closed. */
export function endOfString(text: string, start: number): number {
  let plain = 0;
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    plain = code === BACKSLASH ? 0 : plain + 1;
    if (code === BACKSLASH) at += 1;
    else if (plain === MANY) at = END_OR_ESCAPE.firstIn(text, at + 1) - 1;
  }
  return text.length;
}

/** Behind the white space of JSON that begins at a place, if any does. */
export function passSpace(text: string, from: number): number {
  return NO_SPACE.firstIn(text, from);
}

/** What stands behind a backslash, and what it means. */
const [SIGNS, MEANT] = ['"\\/bfnrt', '"\\/\b\f\n\r\t'];
/** Not to be in a literal: all below the space. */
const CONTROL = /[^ -\uffff]/;

/**
 * What a string literal stands for; undefined where it is none. Not by `JSON.parse`, which enters short texts into a table where
 * on some releases of Node.js a stranger can make them collide.
 */
export function textOfLiteral(literal: string): string | undefined {
  const end = literal.length - 1;
  if (literal[0] !== '"' || literal[end] !== '"' || endOfString(literal, 0) <= end || CONTROL.test(literal))
    return undefined;
  if (!literal.includes('\\')) return end === 0 ? undefined : literal.slice(1, end);
  const units = Buffer.allocUnsafe(2 * end);
  let length = 0;
  let at = 1;
  for (; at < end; at += 1, length += 1) {
    const unit = literal.charCodeAt(at);
    if (unit !== BACKSLASH) {
      units.writeUInt16LE(unit, 2 * length);
      continue;
    }
    at += 1;
    const isCode = literal.charCodeAt(at) === UNICODE;
    const meant = isCode ? escapedUnit(literal, at + 1) : MEANT.charCodeAt(SIGNS.indexOf(literal.charAt(at)));
    if (Number.isNaN(meant)) return undefined;
    units.writeUInt16LE(meant, 2 * length);
    if (isCode) at += 4;
  }
  return at === end ? units.toString('utf16le', 0, 2 * length) : undefined;
}

/** Position behind a string literal that begins at `start`; -1 where it is none. */
export function endOfLiteral(text: string, start: number): number {
  const end = endOfString(text, start);
  return textOfLiteral(text.slice(start, end)) === undefined ? -1 : end;
}

/** What four hexadecimal digits stand for; NaN where others are among them. Without a text of its own: names may be a stranger's. */
export function escapedUnit(text: string, from: number): number {
  let unit = 0;
  for (let at = from; at < from + 4; at += 1) unit = unit * 16 + digitOf(text.charCodeAt(at));
  return unit;
}

function digitOf(code: number): number {
  if (code >= ZERO && code <= NINE) return code - ZERO;
  const small = code | 32;
  return small >= LETTER_A && small <= LETTER_F ? small - LETTER_A + 10 : NaN;
}
