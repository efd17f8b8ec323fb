import { parseInSlices, TooDeepError } from '../../json/sliced-json';
import { MAX_DEPTH, MAX_JSON } from './json-limits';

/** A body that is longer would hold up alarms while it is parsed at once, in bytes. */
const LARGE = 256 * 1024;
const [BRACE, BRACKET, BLANK] = [0x7b, 0x5b, 0x20];
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const UTF8 = new TextDecoder();

/** A long body, read as JSON before anybody asks for it. */
export type LargeJson = { value: unknown } | { fault: 'no JSON' | 'too deep' };

/** Undefined for a body that is short, too long to be read at all, or begins like no JSON. */
export async function readLargeJson(body: Buffer): Promise<LargeJson | undefined> {
  if (body.length <= LARGE || body.length > MAX_JSON || !beginsLikeJson(body)) return undefined;
  try {
    return { value: await parseInSlices(UTF8.decode(body), MAX_DEPTH) };
  } catch (error) {
    return { fault: error instanceof TooDeepError ? 'too deep' : 'no JSON' };
  }
}

function beginsLikeJson(body: Buffer): boolean {
  const isMarked = BYTE_ORDER_MARK.every((byte, place) => body[place] === byte);
  let at = isMarked ? BYTE_ORDER_MARK.length : 0;
  while ((body[at] ?? Infinity) <= BLANK) at += 1;
  return body[at] === BRACE || body[at] === BRACKET;
}
