const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
/** A brace has the code of its bracket, and this bit. */
const BRACE = 0x20;

/**
 * Whether a JSON text opens more than `limit` objects and arrays inside each other. One pass over the bytes of
 * UTF-8 that builds nothing; it says nothing about whether the text is well formed, which is for the parser.
 */
export function nestsDeeperThan(limit: number, json: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfString(json, at);
    if (byte < OPENING_BRACKET) continue;
    const bracket = byte & ~BRACE;
    if (bracket === OPENING_BRACKET) depth += 1;
    if (bracket === CLOSING_BRACKET) depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}

/** Place of the quote that closes the string opened at `start`; behind the text where none does. */
function endOfString(json: Uint8Array, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const byte = json[at];
    if (byte === QUOTE || byte === undefined) return at;
    if (byte === BACKSLASH) at += 1;
  }
}
