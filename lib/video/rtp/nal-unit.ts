import { BitReader, GrowingBuffer } from '../../bytes';
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

/** Reads a unit behind its header. */
export function readerOf(nal: Buffer, headerBits: number): BitReader {
  const reader = new BitReader(removeEmulationPrevention(nal));
  reader.skip(headerBits);
  return reader;
}

/** NAL units, each behind its length of 16 bits. */
export function withLengths(nals: readonly Buffer[]): Buffer {
  return Buffer.concat(nals.flatMap((nal) => [length16(nal.length), nal]));
}

export function length16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/** The numbers by which an SPS crops its pictures, in units of chroma; four zeros where it crops nothing. */
export function croppingIn(reader: BitReader): [left: number, right: number, top: number, bottom: number] {
  return reader.flag()
    ? [reader.unsigned(), reader.unsigned(), reader.unsigned(), reader.unsigned()]
    : [0, 0, 0, 0];
}

/** Maximum bytes of a NAL unit, and of a picture: a key frame of the largest cameras has about a quarter. */
export const MOST_BYTES = 8 * 1024 * 1024;

const FIRST_SIZE = 16 * 1024;

/** A piece of a NAL unit that is sent in several packets. */
interface NalPiece {
  /** Of the whole unit. */
  header: Uint8Array;
  piece: Buffer;
  isStart: boolean;
  isEnd: boolean;
}

/**
 * What a packet holds: NAL units, or a piece of one; `damaged` where a length is wrong; `unsupported` for a packet type that
 * cannot be read, whatever else arrives.
 */
export type NalPayload = Buffer[] | NalPiece | 'damaged' | 'unsupported';

/** The NAL units that a packet completed; `damaged` also where a piece is missing; `too-large` for a unit beyond `MOST_BYTES`. */
export type DepacketizedUnit = Buffer[] | 'damaged' | 'unsupported' | 'too-large';

/**
 * Extracts NAL units from packets in order, and reassembles those that come in pieces (RFC 6184, section 5.8; RFC 7798, section
 * 4.4.3).
 */
export class Depacketizer {
  /** Reused for each unit. */
  readonly #bytes = new GrowingBuffer(FIRST_SIZE);
  #pieces = 0;
  #isOpen = false;
  /** The sender marks the last piece: a unit without one is incomplete. */
  #tellsEnds = false;

  constructor(private readonly codec: VideoCodec) {}

  unpack(payload: Buffer): DepacketizedUnit {
    const read = this.codec.payload(payload);
    if (typeof read === 'object' && 'piece' in read) return this.#addPiece(read);
    const before = this.finish();
    if (read === 'unsupported') return read;
    return before === 'damaged' || read === 'damaged' ? 'damaged' : [...before, ...read];
  }

  /** Whether a marker on the last packet may end the picture: not within a unit whose end will be marked. */
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

  /** Packets are missing: drops the unit under assembly. */
  drop(): void {
    this.#isOpen = false;
  }

  #addPiece({ header, piece, isStart, isEnd }: NalPiece): DepacketizedUnit {
    const before = isStart ? this.finish() : [];
    this.#tellsEnds ||= isEnd;
    if (isStart) this.#begin(header);
    else if (!this.#isOpen) return 'damaged';
    if (this.#bytes.length + piece.length > MOST_BYTES) {
      this.drop();
      return 'too-large';
    }
    this.#bytes.append(piece);
    this.#pieces += 1;
    const whole = isEnd ? [this.#whole()] : [];
    // A unit that starts within another may become complete; the other is damaged.
    return before === 'damaged' ? before : [...before, ...whole];
  }

  #begin(header: Uint8Array): void {
    this.#bytes.length = 0;
    this.#bytes.append(header);
    this.#pieces = 0;
    this.#isOpen = true;
  }

  #whole(): Buffer {
    this.#isOpen = false;
    return Buffer.from(this.#bytes.content());
  }
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

/** A picture parameter set that was read, and the sequence parameter set it refers to. */
export interface Pps {
  id: number;
  sps: number;
}

/** One way of coding video in NAL units. */
export interface VideoCodec {
  readonly name: VideoFormat['codec'];
  payload(payload: Buffer): NalPayload;
  roleOf(nal: Buffer): NalRole;
  /** Undefined where it cannot be read. */
  slice(nal: Buffer): Slice | undefined;
  /** Undefined where it cannot be read, as for the following. */
  vps(this: void, nal: Buffer): { id: number } | undefined;
  sps(this: void, nal: Buffer): Sps | undefined;
  pps(this: void, nal: Buffer): Pps | undefined;
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
