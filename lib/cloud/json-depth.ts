const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Whether a JSON text opens more than `limit` objects and arrays inside each other. One pass over the bytes of
 * UTF-8 that builds nothing; it says nothing about whether the text is well formed, which is for the parser.
 */
export function nestsDeeperThan(limit: number, json: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case QUOTE:
        at = endOfString(json, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > limit) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case undefined:
      default:
    }
  }
  return false;
}

/** Place of the quote that closes the string opened at `start`; the end of the text where none does. */
function endOfString(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}
