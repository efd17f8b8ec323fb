import { isUtf8 } from 'node:buffer';

/** Text of a body, without the marks that a sender may put before it, two at most; undefined where the bytes are not UTF-8. */
export function bodyText(body: Uint8Array): string | undefined {
  return isUtf8(body) ? Buffer.from(withoutMarks(body).at(-1) ?? body).toString('utf8') : undefined;
}

/** A body as it came, and without one and two marks where it has them. */
export function withoutMarks(body: Uint8Array): Uint8Array[] {
  const count = hasMark(body, 0) ? (hasMark(body, 3) ? 2 : 1) : 0;
  return [0, 1, 2].slice(0, count + 1).map((marks) => body.subarray(3 * marks));
}

function hasMark(body: Uint8Array, at: number): boolean {
  return body[at] === 0xef && body[at + 1] === 0xbb && body[at + 2] === 0xbf;
}
