import { type BitReader, GrowingBuffer } from '../../bytes';
import type { PixelAspect, VideoFormat } from '../media';

/** A NAL unit without its emulation prevention bytes: a 3 behind two zeros (ITU-T H.264, section 7.4.1). */
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

/** Bytes of one NAL unit, and of one picture: a key frame of the largest cameras has about a quarter. */
export const MOST_BYTES = 8 * 1024 * 1024;

const FIRST_SIZE = 16 * 1024;

/** Puts a NAL unit together that came in pieces (RFC 6184, section 5.8; RFC 7798, section 4.4.3). */
export class NalReassembler {
  /** Used again for each unit. */
  readonly #bytes = new GrowingBuffer(FIRST_SIZE);
  #pieces = 0;
  #isOpen = false;
  /** Ends are told: then a unit without one is not whole. */
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
    // One that begins amidst another may become whole, but the other is not.
    return before === 'damaged' ? before : [...before, ...whole];
  }

  /** Whether a mark at the last piece may end its picture: not amidst a unit whose end will be told. */
  mayEnd(): boolean {
    if (!this.#isOpen) return true;
    // Nobody sends a unit in one piece: who marks the first marks them all.
    this.#tellsEnds ||= this.#pieces === 1;
    return !this.#tellsEnds;
  }

  /** What was begun, where no more of it comes: some senders never tell which piece is the last. */
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

  /** False where it would grow too large: it is dropped. */
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
 * The NAL units that a packet completed; `damaged` where a piece is missing, or a length lies; `unsupported` for a kind of packet that
 * cannot be read, whatever else comes; `too-large` for a unit beyond any bound.
 */
export type DepacketizedUnit = Buffer[] | 'damaged' | 'unsupported' | 'too-large';

/** Takes the NAL units out of the packets of one payload format, which come in their order. */
export interface Unpacker {
  unpack(payload: Buffer): DepacketizedUnit;
  /** Whether a mark at the last packet may end its picture. */
  mayEnd(): boolean;
  /** What was begun, where no more of it comes. */
  finish(): DepacketizedUnit;
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

/** What a NAL unit is for: one of the parameter sets, part of a picture, a hint that belongs to the picture, or nothing to us. */
export type NalRole = 'vps' | 'sps' | 'pps' | 'slice' | 'recovery' | 'other';

/** What the head of a slice tells. */
export interface Slice {
  /** The first of its picture. */
  isFirst: boolean;
  /** Id of the picture parameter set it is decoded with. */
  pps: number;
  /**
   * How decoding can begin at its picture: `clean`, or `open` where pictures that are shown before it may need some from before
   * it.
   */
  entry: 'clean' | 'open' | undefined;
  /** It needs no other picture; as far as that is known, of H.265 from the first of a picture alone. */
  isIntra: boolean;
  /** As `open`, also if decoding began before: what leads it is broken anyway. */
  isBrokenLink: boolean;
  /** Where it is shown before the key frame ahead of it, it may need pictures from before that one. */
  reachesBack: boolean;
}

export type Field = 'top' | 'bottom';

/** A sequence parameter set that was read. */
export interface Sps {
  id: number;
  /** Id of the video parameter set it refers to; H.265 alone. */
  vps: number | undefined;
  /** Less what is cut off, in pixels. */
  width: number;
  height: number;
  /** Undefined where pixels are square. */
  pixelAspect: PixelAspect | undefined;
  /** RFC 6381. */
  codecString: string;
  /** Which field of a frame a slice is part of, where the two come as pictures of their own; undefined for a whole frame. */
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
  /** What tells a decoder that it can begin at a picture that does not say so: Chromium plays no live video without. */
  readonly recovery: readonly Buffer[];
}

/** Pixels of a side. */
const MOST_OF_SIDE = 16_384;
/**
 * Pixels of a whole picture as it is coded, at the highest common level of both codecs (ITU-T H.264, table A-1; H.265, table A.8;
 * level 6.2): somewhat more than 8K. Decoders take memory for it, many times over, whatever little of it is shown or sent.
 */
const MOST_IN_ALL = 35_651_584;

/** Width and height of a pixel by their index, from 1 on (ITU-T H.264, table E-1; H.265, table E.1). */
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
/** Sides of a pixel one to the other: what is more is no shape that a camera has. */
const THINNEST = 4;

/** What a sequence parameter set says of the size of its pictures. */
export interface PictureSize {
  /** Less what is cut off, in pixels. */
  width: number;
  height: number;
  /** As coded, in pixels: what is cut off included. */
  coded: number;
}

export function isPictureSize({ width, height, coded }: PictureSize): boolean {
  return isSide(width) && isSide(height) && coded <= MOST_IN_ALL;
}

function isSide(pixels: number): boolean {
  return pixels > 0 && pixels <= MOST_OF_SIDE;
}

/**
 * Reads the usability information of a sequence parameter set (ITU-T H.264 and H.265, section E.2.1) as far as the shape of pixels.
 * @returns undefined where they are square, or it is not told: what cannot be read keeps nobody from the pictures
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
