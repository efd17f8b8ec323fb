/** Characters that are compared one by one: most matches are near, and starting the regular expression takes time. */
const NEAR = 32;
const ASCII = 128;

/**
 * Finds the first character of a class in a text. Long distances are left to the regular expression engine, which is many times
 * as fast as a loop over characters, and equally fast where such a loop has hardly run before.
 */
export class CharacterSearch {
  readonly #pattern: RegExp;
  /** By code: whether it is in the class; the last entry stands for all beyond ASCII. */
  readonly #isMeant: readonly boolean[];

  /** @param characters the class; it must not distinguish characters beyond ASCII */
  constructor(characters: RegExp) {
    this.#pattern = new RegExp(characters, 'g');
    this.#isMeant = Array.from({ length: ASCII + 1 }, (_, code) =>
      characters.test(String.fromCharCode(code)),
    );
  }

  /** Position of the first match from a position on; the end of the text where there is none. */
  firstIn(text: string, from: number): number {
    const near = Math.min(from + NEAR, text.length);
    for (let at = from; at < near; at += 1)
      if (this.#isMeant[Math.min(text.charCodeAt(at), ASCII)]) return at;
    if (near >= text.length) return text.length;
    this.#pattern.lastIndex = near;
    return this.#pattern.test(text) ? this.#pattern.lastIndex - 1 : text.length;
  }
}

const [QUOTE, BACKSLASH] = ['"'.charCodeAt(0), '\\'.charCodeAt(0)];
const UNICODE = 'u'.charCodeAt(0);
const [ZERO, NINE, LETTER_A, LETTER_F] = [0x30, 0x39, 0x61, 0x66];
const END_OR_ESCAPE = new CharacterSearch(/["\\]/);
const NO_SPACE = new CharacterSearch(/[^ \t\n\r]/);
/** After this many characters without an escape a search begins; where escapes are dense, a search for each takes longer. */
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

/** Position behind the JSON white space, if any, at a position. */
export function passSpace(text: string, from: number): number {
  return NO_SPACE.firstIn(text, from);
}

/** Characters after a backslash, and their meanings. */
const [SIGNS, MEANT] = ['"\\/bfnrt', '"\\/\b\f\n\r\t'];
/** Must not occur in a literal: all characters below the space. */
const CONTROL = /[^ -\uffff]/;

/**
 * The value of a string literal; undefined where the text is none. Not by `JSON.parse`, which enters short texts into a table
 * where, on some releases of Node.js, a stranger can cause collisions.
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

/**
 * The code unit of four hexadecimal digits; NaN where they are none. Creates no substring, because names may be a stranger's.
 */
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

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
/** A brace has the code of its bracket plus this bit. */
const BRACE = 0x20;

/**
 * Whether a JSON text opens more than `limit` objects and arrays inside each other. One pass over the bytes of UTF-8 that
 * builds nothing. It does not check whether the text is well formed; that is for the parser.
 */
export function nestsDeeperThan(limit: number, json: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfByteString(json, at);
    if (byte < OPENING_BRACKET) continue;
    const bracket = byte & ~BRACE;
    if (bracket === OPENING_BRACKET) depth += 1;
    if (bracket === CLOSING_BRACKET) depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}

/** Position of the quote that closes the string opened at `start`; behind the text where there is none. */
function endOfByteString(json: Uint8Array, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const byte = json[at];
    if (byte === QUOTE || byte === undefined) return at;
    if (byte === BACKSLASH) at += 1;
  }
}
