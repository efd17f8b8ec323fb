import { isUtf8 } from 'node:buffer';

/** Text of a body, without the mark that a sender may put before it; undefined where the bytes are not UTF-8. */
export function bodyText(body: Uint8Array): string | undefined {
  return isUtf8(body) ? Buffer.from(withoutMark(body)).toString('utf8') : undefined;
}

export function hasMark(body: Uint8Array): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

export function withoutMark(body: Uint8Array): Uint8Array {
  return hasMark(body) ? body.subarray(3) : body;
}
