import { BitReader } from '../../bytes';
import {
  aggregated,
  NalReassembler,
  isPictureSize,
  type NalRole,
  type PictureSize,
  pixelAspectIn,
  type Slice,
  type Sps,
  removeEmulationPrevention,
  type DepacketizedUnit,
  type Unpacker,
  type VideoCodec,
} from './nal-unit';

const SPACES = ['', 'A', 'B', 'C'] as const;

/** The name of a decoder's abilities, such as `hvc1.1.6.L93.B0` (ISO/IEC 14496-15, annex E.3). */
function codecStringOf(profile: Buffer): string {
  const first = profile.readUInt8(0);
  const space = SPACES[first >> 6] ?? '';
  const tier = (first & 0x20) === 0 ? 'L' : 'H';
  const compatibility = reversed(profile.readUInt32BE(1)).toString(16).toUpperCase();
  const parts = [
    'hvc1',
    `${space}${first & 0x1f}`,
    compatibility,
    `${tier}${profile.readUInt8(11)}`,
    ...constraintsOf(profile.subarray(5, 11)),
  ];
  return parts.join('.');
}

/** The lowest bit first. */
function reversed(flags: number): number {
  let value = 0;
  for (let bit = 0; bit < 32; bit += 1) value = value * 2 + ((flags >>> bit) & 1);
  return value;
}

/** Byte by byte, without the zeros at the end. */
function constraintsOf(bytes: Buffer): string[] {
  const last = bytes.findLastIndex((byte) => byte !== 0);
  return [...bytes.subarray(0, last + 1)].map((byte) => byte.toString(16).toUpperCase());
}

/** What the standard allows. */
const MOST_ID = 15;
const MOST_DEPTH = 16;
/** Where the general part of the profile, tier and level begins: behind the header and one byte. */
const PROFILE_AT = 3;
const PROFILE_BYTES = 12;

/** Reads a sequence parameter set (ITU-T H.265, section 7.3.2.2.1) as far as the shape of pixels; undefined where it cannot be read. */
function readSps(nal: Buffer): Sps | undefined {
  const bytes = removeEmulationPrevention(nal);
  const reader = new BitReader(bytes);
  reader.skip(16);
  const vps = reader.bits(4);
  const subLayers = reader.bits(3);
  const temporalIdNested = reader.flag();
  skipProfile(reader, subLayers);
  const id = reader.unsigned();
  const chromaFormat = reader.unsigned();
  const separatePlanes = chromaFormat === 3 && reader.flag();
  const size = sizeIn(reader, separatePlanes ? 0 : chromaFormat);
  const [bitDepthLuma, bitDepthChroma] = [reader.unsigned() + 8, reader.unsigned() + 8];
  const isDepth = Math.max(bitDepthLuma, bitDepthChroma) <= MOST_DEPTH;
  const isKnown = id <= MOST_ID && chromaFormat <= 3 && isDepth;
  if (reader.exceeded || !isKnown || !isPictureSize(size)) return undefined;
  const profile = bytes.subarray(PROFILE_AT, PROFILE_AT + PROFILE_BYTES);
  const temporalLayers = subLayers + 1;
  const abilities = { profile, chromaFormat, bitDepthLuma, bitDepthChroma, temporalLayers, temporalIdNested };
  return {
    id,
    vps,
    width: size.width,
    height: size.height,
    pixelAspect: skipToUsability(reader, subLayers) ? pixelAspectIn(reader) : undefined,
    codecString: codecStringOf(profile),
    // Each is an access unit of its own.
    fieldOf: () => undefined,
    record: (sets) => hevcRecord(abilities, sets),
  };
}

/** Section 7.3.3, with what it says of each sub-layer. */
function skipProfile(reader: BitReader, subLayers: number): void {
  reader.skip(PROFILE_BYTES * 8);
  const present = Array.from({ length: subLayers }, () => [reader.flag(), reader.flag()] as const);
  if (subLayers > 0) reader.skip((8 - subLayers) * 2);
  for (const [hasProfile, hasLevel] of present) reader.skip((hasProfile ? 88 : 0) + (hasLevel ? 8 : 0));
}

/** Less what is cut off, in units of table 6-1. */
function sizeIn(reader: BitReader, chromaFormat: number): PictureSize {
  const [across, down] = [reader.unsigned(), reader.unsigned()];
  const [left, right, top, bottom] = reader.flag()
    ? [reader.unsigned(), reader.unsigned(), reader.unsigned(), reader.unsigned()]
    : [0, 0, 0, 0];
  const unitAcross = chromaFormat === 1 || chromaFormat === 2 ? 2 : 1;
  const unitDown = chromaFormat === 1 ? 2 : 1;
  const [width, height] = [across - (left + right) * unitAcross, down - (top + bottom) * unitDown];
  return { width, height, coded: across * down };
}

const HEADER = 2;

/** Single NAL units, aggregation packets and fragmentation units, without decoding order numbers (RFC 7798, section 4.4). */
class H265Depacketizer implements Unpacker {
  readonly #unit = new NalReassembler();

  unpack(payload: Buffer): DepacketizedUnit {
    const type = typeOf(payload);
    if (type === NAL.fu) return this.#fragment(payload);
    const before = this.#unit.finish();
    if (type === NAL.paci) return 'unsupported';
    if (payload.length < HEADER) return 'damaged';
    const units = type === NAL.ap ? aggregated(payload.subarray(HEADER)) : [Buffer.from(payload)];
    return before === 'damaged' || units === 'damaged' ? 'damaged' : [...before, ...units];
  }

  mayEnd(): boolean {
    return this.#unit.mayEnd();
  }

  finish(): DepacketizedUnit {
    return this.#unit.finish();
  }

  drop(): void {
    this.#unit.drop();
  }

  /** Section 4.4.3. */
  #fragment(payload: Buffer): DepacketizedUnit {
    const [first, second, header] = payload;
    if (first === undefined || second === undefined || header === undefined) return 'damaged';
    const [isStart, isEnd] = [(header & 0x80) !== 0, (header & 0x40) !== 0];
    return this.#unit.add(
      Buffer.from([(first & 0x81) | ((header & 0x3f) << 1), second]),
      payload.subarray(HEADER + 1),
      { isStart, isEnd },
    );
  }
}

/** Bytes that hold what we read at the head of a slice. */
const HEAD = 16;
const HEADER_BITS = 16;
/** Layers, 16 bits that are reserved, profile, tier and level. */
const LEVEL_BITS = 12 + 16 + 96;
/** Table 7-7. */
const INTRA = 2;
const MOST_PPS = 63;
const MOST_SPS = 15;

/** H.265 (ITU-T H.265). */
export const h265: VideoCodec = {
  name: 'h265',
  unpacker: () => new H265Depacketizer(),
  roleOf,
  slice: readSlice,
  vps: readVps,
  sps: readSps,
  pps: readPps,
  recovery: [],
};

function roleOf(nal: Buffer): NalRole {
  const type = typeOf(nal);
  if (layerOf(nal) !== 0) return 'other';
  if (isSlice(type)) return 'slice';
  if (type === NAL.vps) return 'vps';
  if (type === NAL.sps) return 'sps';
  return type === NAL.pps ? 'pps' : 'other';
}

/** Section 7.3.6.1. */
function readSlice(nal: Buffer): Slice | undefined {
  const type = typeOf(nal);
  const reader = new BitReader(removeEmulationPrevention(nal.subarray(0, HEAD)));
  reader.skip(HEADER_BITS);
  const isFirst = reader.flag();
  if (isIrap(type)) reader.skip(1);
  const pps = reader.unsigned();
  if (reader.exceeded || pps > MOST_PPS) return undefined;
  // Of the one layer that is decoded no reserved bits stand before it.
  const isIntra = !isFirst || reader.unsigned() === INTRA;
  return {
    isFirst,
    pps,
    entry: entryOf(type),
    isIntra,
    isBrokenLink: isBla(type),
    reachesBack: isRasl(type),
  };
}

function entryOf(type: number): Slice['entry'] {
  if (isIdr(type)) return 'clean';
  return isIrap(type) ? 'open' : undefined;
}

/** Section 7.3.2.1: its id; one that is cut short lacks profile, tier and level, too, or their end. */
function readVps(nal: Buffer): number | undefined {
  const reader = new BitReader(removeEmulationPrevention(nal));
  reader.skip(HEADER_BITS);
  const id = reader.bits(4);
  reader.skip(LEVEL_BITS);
  return reader.exceeded || !reader.hasEnd ? undefined : id;
}

/** Section 7.3.2.3.1, without tiles, scaling lists and extensions. One that is cut short would take the place of a good one. */
function readPps(nal: Buffer): { id: number; sps: number } | undefined {
  const reader = new BitReader(removeEmulationPrevention(nal));
  reader.skip(HEADER_BITS);
  const [id, sps] = [reader.unsigned(), reader.unsigned()];
  reader.skip(7);
  // Reference pictures, and the quantizer.
  for (let numbers = 0; numbers < 3; numbers += 1) reader.unsigned();
  reader.skip(2);
  if (reader.flag()) reader.unsigned();
  for (let offsets = 0; offsets < 2; offsets += 1) reader.unsigned();
  reader.skip(4);
  const hasTiles = reader.flag();
  reader.skip(1);
  if (!hasTiles) {
    reader.skip(1);
    if (reader.flag()) {
      reader.skip(1);
      if (!reader.flag()) for (let offsets = 0; offsets < 2; offsets += 1) reader.unsigned();
    }
    // Then scaling lists may follow.
    if (!reader.flag()) {
      reader.skip(1);
      reader.unsigned();
      reader.skip(2);
    }
  }
  return reader.exceeded || !reader.hasEnd || id > MOST_PPS || sps > MOST_SPS ? undefined : { id, sps };
}

/** What a decoder must be able to do. */
interface Abilities {
  /** `general_profile_space` to `general_level_idc` (ITU-T H.265, section 7.3.3): twelve bytes. */
  profile: Buffer;
  chromaFormat: number;
  bitDepthLuma: number;
  bitDepthChroma: number;
  temporalLayers: number;
  temporalIdNested: boolean;
}

interface Sets {
  vps: readonly Buffer[];
  sps: Buffer;
  pps: readonly Buffer[];
}

/** Lengths of NAL units in the file have four bytes. */
const LENGTHS = 3;
/** All sets of a kind are in the record, none in the samples. */
const COMPLETE = 0x80;

/** The `HEVCDecoderConfigurationRecord` (ISO/IEC 14496-15, section 8.3.3.1). What it may leave open stays open. */
function hevcRecord(abilities: Abilities, { vps, sps, pps }: Sets): Buffer {
  const { profile, chromaFormat, bitDepthLuma, bitDepthChroma, temporalLayers, temporalIdNested } = abilities;
  const layers = (Math.min(temporalLayers, 7) << 3) | (temporalIdNested ? 4 : 0) | LENGTHS;
  const segmentation = [0xf0, 0];
  const parallelism = 0xfc;
  const averageFrameRate = [0, 0];
  return Buffer.concat([
    Buffer.from([1]),
    profile,
    Buffer.from([...segmentation, parallelism, 0xfc | chromaFormat]),
    Buffer.from([0xf8 | (bitDepthLuma - 8), 0xf8 | (bitDepthChroma - 8), ...averageFrameRate, layers, 3]),
    arrayOf(NAL.vps, vps),
    arrayOf(NAL.sps, [sps]),
    arrayOf(NAL.pps, pps),
  ]);
}

function arrayOf(type: number, nals: readonly Buffer[]): Buffer {
  const units = nals.map((nal) => Buffer.concat([length16(nal.length), nal]));
  return Buffer.concat([Buffer.from([COMPLETE | type]), length16(nals.length), ...units]);
}

function length16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/** ITU-T H.265, table 7-1; from 48: RFC 7798, section 4.4. */
const NAL = {
  raslN: 8,
  raslR: 9,
  blaFirst: 16,
  blaLast: 18,
  idrFirst: 19,
  idrLast: 20,
  cra: 21,
  lastIrap: 23,
  vps: 32,
  sps: 33,
  pps: 34,
  ap: 48,
  fu: 49,
  paci: 50,
} as const;

/** Pictures that others refer to, or not: 0 to 9. */
const LAST_TRAILING = NAL.raslR;

function typeOf(nal: Buffer): number {
  return ((nal[0] ?? 0) >> 1) & 0x3f;
}

/** 0 for the one layer that everybody decodes. */
function layerOf(nal: Buffer): number {
  return (((nal[0] ?? 0) & 1) << 5) | ((nal[1] ?? 0) >> 3);
}

function isSlice(type: number): boolean {
  return type <= LAST_TRAILING || (type >= NAL.blaFirst && type <= NAL.cra);
}

function isIrap(type: number): boolean {
  return type >= NAL.blaFirst && type <= NAL.lastIrap;
}

function isBla(type: number): boolean {
  return type >= NAL.blaFirst && type <= NAL.blaLast;
}

function isIdr(type: number): boolean {
  return type === NAL.idrFirst || type === NAL.idrLast;
}

/** Shown before the key frame ahead of it, and may need pictures from before that one. */
function isRasl(type: number): boolean {
  return type === NAL.raslN || type === NAL.raslR;
}

/** What the standard allows: sets of reference pictures, pictures in one, and pictures that stay for long. */
const MOST_SETS = 64;
const MOST_PICTURES = 16;
const MOST_LONG_TERM = 32;

/**
 * Goes on in a sequence parameter set from the depth of colours to the usability information (ITU-T H.265, section 7.3.2.2.1).
 * @returns false where it cannot be read so far
 */
function skipToUsability(reader: BitReader, subLayers: number): boolean {
  const orderBits = reader.unsigned() + 4;
  const orders = reader.flag() ? subLayers + 1 : 1;
  skipNumbers(reader, orders * 3);
  // Sizes of blocks, and depths of their trees.
  skipNumbers(reader, 6);
  if (reader.flag() && reader.flag()) skipScalingLists(reader);
  reader.skip(2);
  if (reader.flag()) {
    reader.skip(8);
    skipNumbers(reader, 2);
    reader.skip(1);
  }
  if (!skipReferences(reader)) return false;
  if (reader.flag()) {
    const count = reader.unsigned();
    if (count > MOST_LONG_TERM) return false;
    reader.skip(count * (orderBits + 1));
  }
  reader.skip(2);
  return !reader.exceeded;
}

function skipNumbers(reader: BitReader, count: number): void {
  for (let index = 0; index < count; index += 1) reader.unsigned();
}

/** Section 7.3.4: six lists of each size, two of the largest. */
function skipScalingLists(reader: BitReader): void {
  for (let size = 0; size < 4; size += 1)
    for (let list = 0; list < (size === 3 ? 2 : 6); list += 1) {
      const isTold = reader.flag();
      // As another one is; else, for the larger ones, where they begin, and each value.
      skipNumbers(reader, isTold ? Math.min(64, 16 << (2 * size)) + (size > 1 ? 1 : 0) : 1);
    }
}

/** Section 7.3.7. */
function skipReferences(reader: BitReader): boolean {
  const count = reader.unsigned();
  if (count > MOST_SETS) return false;
  let pictures = 0;
  for (let index = 0; index < count; index += 1) {
    pictures = index > 0 && reader.flag() ? skipPredicted(reader, pictures) : skipTold(reader);
    if (reader.exceeded || pictures > MOST_PICTURES) return false;
  }
  return true;
}

/** @returns how many pictures the set has */
function skipPredicted(reader: BitReader, before: number): number {
  reader.skip(1);
  reader.unsigned();
  let pictures = 0;
  for (let index = 0; index <= before; index += 1) if (reader.flag() || reader.flag()) pictures += 1;
  return pictures;
}

function skipTold(reader: BitReader): number {
  const pictures = reader.unsigned() + reader.unsigned();
  if (pictures > MOST_PICTURES) return pictures;
  for (let index = 0; index < pictures; index += 1) {
    reader.unsigned();
    reader.skip(1);
  }
  return pictures;
}
