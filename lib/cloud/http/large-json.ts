import { parseInSlices, TooDeepError, TooManyError } from '../../json/sliced-parser';
import { MAX_DEPTH, MAX_JSON, MAX_NAMES, MAX_VALUES } from './json-limits';

/** A body that is longer would hold up alarms while it is parsed at once, in bytes. */
const LARGE = 256 * 1024;
const [BRACE, BRACKET, QUOTE, BLANK] = [0x7b, 0x5b, 0x22, 0x20];
/** Bytes in which it shows whether a body may be JSON. */
const BEGINNING = 1024;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const BOUNDS = { depth: MAX_DEPTH, values: MAX_VALUES, names: MAX_NAMES };

/** A long body, read as JSON before anybody asks for it. */
export type LargeJson = { value: unknown } | { fault: 'no JSON' | 'too deep' | 'too much' };

/** Undefined for a body that is short, or too long to be read at all. A page, or a picture, is looked at no further than its beginning. */
export async function readLargeJson(body: Buffer): Promise<LargeJson | undefined> {
  if (body.length <= LARGE || body.length > MAX_JSON) return undefined;
  const json = withoutMark(body);
  if (!beginsLikeJson(json)) return { fault: 'no JSON' };
  try {
    return { value: await parseInSlices(json, BOUNDS) };
  } catch (error) {
    if (error instanceof TooDeepError) return { fault: 'too deep' };
    return { fault: error instanceof TooManyError ? 'too much' : 'no JSON' };
  }
}

function withoutMark(body: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK;
  return BYTE_ORDER_MARK.equals(body.subarray(0, length)) ? body.subarray(length) : body;
}

/** Like an object, a list or a text: a number of this length is nothing that anybody could use. */
function beginsLikeJson(body: Buffer): boolean {
  const first = body.subarray(0, BEGINNING).find((byte) => byte > BLANK);
  return first === undefined || first === BRACE || first === BRACKET || first === QUOTE;
}
