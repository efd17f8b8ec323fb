/** A picture that any program shows. */
export interface Jpeg {
  jpeg: Buffer;
  /** Pixels. */
  width: number;
  height: number;
}

const START = 0xffd8;
const END = 0xffd9;
const SCAN = 0xda;
/** SOF0 to SOF15 (ITU-T T.81, table B.1), among which stand three markers that are none. */
const FRAMES = { first: 0xc0, last: 0xcf, others: [0xc4, 0xc8, 0xcc] };
/** Marker and length of a segment. */
const HEAD = 4;

/**
 * A JPEG as one, with the size that its frame header tells (ITU-T T.81, section B.2.2).
 * @returns undefined for bytes that are no JPEG, or only a part of one
 */
export function jpegIn(bytes: Buffer): Jpeg | undefined {
  if (bytes.length < HEAD || bytes.readUInt16BE(0) !== START) return undefined;
  if (bytes.readUInt16BE(bytes.length - 2) !== END) return undefined;
  for (let at = 2; at + HEAD <= bytes.length;) {
    const marker = bytes.readUInt16BE(at) - 0xff00;
    const length = bytes.readUInt16BE(at + 2);
    if (marker < 0 || marker === SCAN || length < 2) return undefined;
    if (isFrame(marker)) return withSize(bytes, at + HEAD);
    at += 2 + length;
  }
  return undefined;
}

function isFrame(marker: number): boolean {
  return marker >= FRAMES.first && marker <= FRAMES.last && !FRAMES.others.includes(marker);
}

/** @param at behind the length: precision, height, width */
function withSize(bytes: Buffer, at: number): Jpeg | undefined {
  if (at + 5 > bytes.length) return undefined;
  const height = bytes.readUInt16BE(at + 1);
  const width = bytes.readUInt16BE(at + 3);
  return width > 0 && height > 0 ? { jpeg: bytes, width, height } : undefined;
}
