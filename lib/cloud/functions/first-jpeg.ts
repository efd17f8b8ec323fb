import type { Headers } from '../http/answer';

/** Start of image, and the begin of the marker behind it (ITU-T T.81, section B.1.1). */
export const JPEG = Buffer.from([0xff, 0xd8, 0xff]);
const END = Buffer.from([0xff, 0xd9]);
const [FILL, SCAN, END_MARKER] = [0xff, 0xda, 0xd9];

/**
 * Where an answer may have no end, what says how much of it is enough: MJPEG (`multipart/x-mixed-replace`) goes on for as long as
 * anybody reads, and the first picture is the one of now.
 * @returns undefined for an answer that ends by itself
 */
export function firstJpegOf(headers: Headers): ((body: Buffer) => number | undefined) | undefined {
  const type = String(headers['content-type'] ?? '').trimStart();
  const hasEnd = headers['content-length'] !== undefined || headers['content-encoding'] !== undefined;
  if (hasEnd || !/^multipart\//i.test(type)) return undefined;
  const search = new FirstJpeg();
  return (body) => search.endIn(body);
}

/** Finds the end of the first JPEG in bytes that grow. Nothing is looked at twice, for some send a picture in very many pieces. */
class FirstJpeg {
  #at = 0;
  #within: 'nothing' | 'segments' | 'scans' = 'nothing';

  /** @returns the number of bytes to the end of the first JPEG; undefined while that has not come */
  endIn(body: Buffer): number | undefined {
    if (this.#within === 'nothing' && this.#passes(body, JPEG)) this.#within = 'segments';
    // On the marker that stands behind the start.
    if (this.#within === 'segments') this.#walk(body);
    if (this.#within !== 'scans' || !this.#passes(body, END)) return undefined;
    return this.#at;
  }

  /** A preview of the picture, which ends as the picture does, stands in a segment: they are walked by their lengths. */
  #walk(body: Buffer): void {
    while (this.#at + 4 <= body.length || body[this.#at + 1] === END_MARKER) {
      const marker = body[this.#at + 1];
      const isMarker = body[this.#at] === FILL;
      if (isMarker && marker === FILL) {
        this.#at += 1;
        continue;
      }
      if (!isMarker || marker === SCAN || marker === END_MARKER) {
        this.#within = 'scans';
        return;
      }
      this.#at += 2 + body.readUInt16BE(this.#at + 2);
    }
  }

  #passes(body: Buffer, mark: Buffer): boolean {
    const found = body.indexOf(mark, this.#at);
    // It may be cut in the middle by the end of what is there.
    this.#at = found < 0 ? Math.max(this.#at, body.length - mark.length + 1) : found + mark.length;
    if (found >= 0 && mark === JPEG) this.#at -= 1;
    return found >= 0;
  }
}
