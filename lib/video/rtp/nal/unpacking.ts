/**
 * The NAL units that a packet completed; `damaged` where a piece is missing, or a length lies; `unsupported` for a kind of packet that
 * cannot be read, whatever else comes; `too-large` for a unit beyond any bound.
 */
export type Unpacked = Buffer[] | 'damaged' | 'unsupported' | 'too-large';

/** Takes the NAL units out of the packets of one payload format, which come in their order. */
export interface Unpacker {
  unpack(payload: Buffer): Unpacked;
  /** Whether a mark at the last packet may end its picture. */
  mayEnd(): boolean;
  /** What was begun, where no more of it comes. */
  finish(): Unpacked;
  /** Packets are missing: what was begun will not be whole. */
  drop(): void;
}

/**
 * Units behind each other, each behind its length of 16 bits, as in aggregation packets.
 * @returns copies, for a packet is part of a larger read of the socket, which it would keep
 */
export function aggregated(payload: Buffer): Buffer[] | 'damaged' {
  const units: Buffer[] = [];
  for (let at = 0; at < payload.length;) {
    // A zero more behind the last one.
    if (at + 2 > payload.length) return at === 0 ? 'damaged' : units;
    const end = at + 2 + payload.readUInt16BE(at);
    if (end > payload.length) return 'damaged';
    if (end > at + 2) units.push(Buffer.from(payload.subarray(at + 2, end)));
    at = end;
  }
  return units;
}

const START = Buffer.from([0, 0, 1]);
/** Bytes of a slice or a parameter set, with its head of one or two: before a start code there may be a head alone. */
const LEAST = 3;
/** Start codes that are looked for: a picture may have half as many units, and what is made to have more costs memory by the megabyte. */
const MOST_STARTS = 2048;

/**
 * The units in what should be one: some cameras send a byte stream instead (ITU-T H.264 and H.265, annex B). Within a unit there is
 * no start code, and at its end no zero.
 */
export function unitsOf(bytes: Buffer): Buffer[] {
  let start = bytes.indexOf(START);
  if (start < 0) return [withoutZeros(bytes)];
  const units: Buffer[] = [];
  for (let at = 0, found = 0; at < bytes.length && found < MOST_STARTS; found += 1) {
    const end = start < 0 ? bytes.length : start;
    units.push(withoutZeros(bytes.subarray(at, end)));
    at = end + START.length;
    start = bytes.indexOf(START, at);
  }
  return units.filter(({ length }) => length >= LEAST);
}

/** They are part of the next start code, or fill a packet. */
function withoutZeros(unit: Buffer): Buffer {
  let length = unit.length;
  while (length > 0 && unit[length - 1] === 0) length -= 1;
  return unit.subarray(0, length);
}
