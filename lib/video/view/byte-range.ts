/** First and last byte. */
export interface ByteRange {
  first: number;
  last: number;
}

const SINGLE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * The part of a file that a `Range` header asks for (RFC 9110, section 14): undefined where it counts as none, such as several
 * parts at once, which nobody needs to be given; 'outside' where the file has nothing there.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'outside' | undefined {
  const [, from = '', to = ''] = SINGLE.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') return lastBytes(Number(to), size);
  const [first, last] = [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)];
  if (first >= size) return 'outside';
  return first <= last ? { first, last } : undefined;
}

function lastBytes(count: number, size: number): ByteRange | 'outside' {
  return count === 0 || size === 0 ? 'outside' : { first: Math.max(0, size - count), last: size - 1 };
}
