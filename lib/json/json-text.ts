import { CharacterSearch } from './character-search';

const [QUOTE, BACKSLASH] = ['"'.charCodeAt(0), '\\'.charCodeAt(0)];
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
