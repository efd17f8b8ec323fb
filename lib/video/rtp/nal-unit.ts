import { type BitReader, GrowingBuffer } from '../../bytes';
import type { PixelAspect, VideoFormat } from '../media';

/** Removes the emulation prevention bytes: each 3 after two zeros (ITU-T H.264, section 7.4.1). */
export function removeEmulationPrevention(nal: Buffer): Buffer {
  const bytes = Buffer.alloc(nal.length);
  let length = 0;
  let zeros = 0;
  for (const byte of nal) {
    if (zeros >= 2 && byte === 3) {
      zeros = 0;
      continue;
    }
    zeros = byte === 0 ? zeros + 1 : 0;
    bytes[length] = byte;
    length += 1;
  }
  return bytes.subarray(0, length);
}

/** Maximum bytes of a NAL unit, and of a picture: a key frame of the largest cameras has about a quarter. */
export const MOST_BYTES = 8 * 1024 * 1024;

const FIRST_SIZE = 16 * 1024;

/** Reassembles fragmented NAL units (RFC 6184, section 5.8; RFC 7798, section 4.4.3). */
export class NalReassembler {
  /** Reused for each unit. */
  readonly #bytes = new GrowingBuffer(FIRST_SIZE);
  #pieces = 0;
  #isOpen = false;
  /** The sender marks the last piece: a unit without one is incomplete. */
  #tellsEnds = false;

  /** @param header of the unit */
  add(
    header: Uint8Array,
    piece: Buffer,
    { isStart, isEnd }: { isStart: boolean; isEnd: boolean },
  ): DepacketizedUnit {
    const before = isStart ? this.finish() : [];
    this.#tellsEnds ||= isEnd;
    if (isStart) this.#begin(header);
    else if (!this.#isOpen) return 'damaged';
    if (!this.#append(piece)) return 'too-large';
    const whole = isEnd ? [this.#whole()] : [];
    // A unit that starts within another may become complete; the other is damaged.
    return before === 'damaged' ? before : [...before, ...whole];
  }

  /** Whether a marker on the last piece may end the picture: not within a unit whose end will be marked. */
  mayEnd(): boolean {
    if (!this.#isOpen) return true;
    // No sender fragments a unit into a single piece: a sender with a marker on the first piece marks every
    // piece.
    this.#tellsEnds ||= this.#pieces === 1;
    return !this.#tellsEnds;
  }

  /** Ends the unit under assembly: some senders never mark the last piece. */
  finish(): Buffer[] | 'damaged' {
    if (!this.#isOpen) return [];
    if (!this.#tellsEnds) return [this.#whole()];
    this.drop();
    return 'damaged';
  }

  drop(): void {
    this.#isOpen = false;
  }

  #begin(header: Uint8Array): void {
    this.#bytes.length = 0;
    this.#bytes.append(header);
    this.#pieces = 0;
    this.#isOpen = true;
  }

  /** @returns false where the unit would be too large; it is dropped */
  #append(piece: Buffer): boolean {
    if (this.#bytes.length + piece.length > MOST_BYTES) {
      this.drop();
      return false;
    }
    this.#bytes.append(piece);
    this.#pieces += 1;
    return true;
  }

  #whole(): Buffer {
    this.#isOpen = false;
    return Buffer.from(this.#bytes.content());
  }
}

/**
 * The NAL units that a packet completed; `damaged` where a piece is missing or a length is wrong; `unsupported` for a packet
 * type that cannot be read, whatever else arrives; `too-large` for a unit beyond `MOST_BYTES`.
 */
export type DepacketizedUnit = Buffer[] | 'damaged' | 'unsupported' | 'too-large';

/** Extracts NAL units from the packets of one payload format. The packets must be in order. */
export interface Unpacker {
  unpack(payload: Buffer): DepacketizedUnit;
  /** Whether a marker on the last packet may end the picture. */
  mayEnd(): boolean;
  /** Ends the unit under assembly. */
  finish(): DepacketizedUnit;
  /** Packets are missing: drops the unit under assembly. */
  drop(): void;
}

/**
 * The units of an aggregation packet, each after its length of 16 bits.
 * @returns copies: views would keep the whole read buffer of the socket in memory
 */
export function aggregated(payload: Buffer): Buffer[] | 'damaged' {
  const units: Buffer[] = [];
  for (let at = 0; at < payload.length;) {
    // A single byte after the last unit is ignored: some senders add a zero.
    if (at + 2 > payload.length) return at === 0 ? 'damaged' : units;
    const end = at + 2 + payload.readUInt16BE(at);
    if (end > payload.length) return 'damaged';
    if (end > at + 2) units.push(Buffer.from(payload.subarray(at + 2, end)));
    at = end;
  }
  return units;
}

const START = Buffer.from([0, 0, 1]);
/**
 * Bytes of the shortest slice or parameter set, its header of one or two included: before a start code there may be a header
 * alone.
 */
const LEAST = 3;
/**
 * Start codes searched for: a picture may have half as many units. A payload made to have more would cost megabytes of memory.
 */
const MOST_STARTS = 2048;

/**
 * Splits a unit at start codes: some cameras send a byte stream in its place (ITU-T H.264 and H.265, annex B). A valid unit
 * contains no start code and does not end with a zero.
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

/** Removes trailing zeros: they belong to the next start code, or fill a packet. */
function withoutZeros(unit: Buffer): Buffer {
  let length = unit.length;
  while (length > 0 && unit[length - 1] === 0) length -= 1;
  return unit.subarray(0, length);
}

/** Purpose of a NAL unit: a parameter set, a part of a picture, a recovery point of the picture, or none that is used here. */
export type NalRole = 'vps' | 'sps' | 'pps' | 'slice' | 'recovery' | 'other';

/** Fields of a slice header. */
export interface Slice {
  /** The first of its picture. */
  isFirst: boolean;
  /** Id of the picture parameter set it is decoded with. */
  pps: number;
  /**
   * How decoding can begin at this picture: `clean`, or `open` where pictures shown before it may reference pictures before it.
   */
  entry: 'clean' | 'open' | undefined;
  /** References no other picture. In H.265 only the first slice of a picture shows it; true for the others. */
  isIntra: boolean;
  /** As `open`, even if decoding began earlier: the pictures shown before this one are broken in any case. */
  isBrokenLink: boolean;
  /** If shown before the preceding key frame, the picture may reference pictures before that key frame. */
  reachesBack: boolean;
}

export type Field = 'top' | 'bottom';

/** A sequence parameter set that was read. */
export interface Sps {
  id: number;
  /** Id of the video parameter set it refers to; H.265 alone. */
  vps: number | undefined;
  /** Pixels after cropping. */
  width: number;
  height: number;
  /** Undefined where pixels are square. */
  pixelAspect: PixelAspect | undefined;
  /** RFC 6381. */
  codecString: string;
  /** The field that a slice belongs to, where fields are coded separately; undefined for a whole frame. */
  fieldOf(slice: Buffer): Field | undefined;
  /** The decoder configuration record with all sets. */
  record(sets: { vps: readonly Buffer[]; sps: Buffer; pps: readonly Buffer[] }): Buffer;
}

/** One way of coding video in NAL units. */
export interface VideoCodec {
  readonly name: VideoFormat['codec'];
  unpacker(): Unpacker;
  roleOf(nal: Buffer): NalRole;
  /** Undefined where it cannot be read. */
  slice(nal: Buffer): Slice | undefined;
  /** Its id; undefined where it cannot be read, as for the following. */
  vps(nal: Buffer): number | undefined;
  sps(nal: Buffer): Sps | undefined;
  pps(nal: Buffer): { id: number; sps: number } | undefined;
  /** NAL units that mark a picture as a recovery point: without, Chromium plays no live video. */
  readonly recovery: readonly Buffer[];
}

/** Pixels of a side. */
const MOST_OF_SIDE = 16_384;
/**
 * Pixels of a picture as coded, at the highest common level of both codecs (ITU-T H.264, table A-1; H.265, table A.8; level
 * 6.2): somewhat more than 8K. Decoders allocate a multiple of this memory, however little is shown or sent.
 */
const MOST_IN_ALL = 35_651_584;

/** Pixel aspect ratios by index, from 1 on (ITU-T H.264, table E-1; H.265, table E.1). */
const KNOWN: readonly (readonly [number, number])[] = [
  [1, 1],
  [12, 11],
  [10, 11],
  [16, 11],
  [40, 33],
  [24, 11],
  [20, 11],
  [32, 11],
  [80, 33],
  [18, 11],
  [15, 11],
  [64, 33],
  [160, 99],
  [4, 3],
  [3, 2],
  [2, 1],
];
const EXTENDED = 255;
/** Highest ratio of the sides of a pixel: no camera has more. */
const THINNEST = 4;

/** Picture size of an SPS. */
export interface PictureSize {
  /** Pixels after cropping. */
  width: number;
  height: number;
  /** Pixels as coded, before cropping. */
  coded: number;
}

export function isPictureSize({ width, height, coded }: PictureSize): boolean {
  return isSide(width) && isSide(height) && coded <= MOST_IN_ALL;
}

function isSide(pixels: number): boolean {
  return pixels > 0 && pixels <= MOST_OF_SIDE;
}

/**
 * Reads the usability information of an SPS (ITU-T H.264 and H.265, section E.2.1) up to the pixel aspect
 * ratio.
 * @returns undefined for square pixels, and where the ratio is missing or unreadable: the video plays without
 *   it
 */
export function pixelAspectIn(reader: BitReader): PixelAspect | undefined {
  const isThere = reader.flag() && reader.flag();
  if (!isThere) return undefined;
  const index = reader.bits(8);
  const [across, down] =
    index === EXTENDED ? [reader.bits(16), reader.bits(16)] : (KNOWN[index - 1] ?? [1, 1]);
  const isShape = across > 0 && down > 0 && across <= THINNEST * down && down <= THINNEST * across;
  return reader.exceeded || !isShape || across === down ? undefined : { across, down };
}
