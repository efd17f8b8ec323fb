import { BitReader } from '../../bytes';
import {
  aggregated,
  croppingIn,
  isPictureSize,
  length16,
  type NalPayload,
  type NalRole,
  type PictureSize,
  pixelAspectIn,
  type Pps,
  readerOf,
  removeEmulationPrevention,
  type Slice,
  type Sps,
  type VideoCodec,
  withLengths,
} from './nal-unit';

const SPACES = ['', 'A', 'B', 'C'] as const;

/** The codec string, such as `hvc1.1.6.L93.B0` (ISO/IEC 14496-15, annex E.3). */
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

/** Reverses the order of the 32 bits. */
function reversed(flags: number): number {
  let value = 0;
  for (let bit = 0; bit < 32; bit += 1) value = value * 2 + ((flags >>> bit) & 1);
  return value;
}

/** The constraint bytes in hexadecimal, without trailing zeros. */
function constraintsOf(bytes: Buffer): string[] {
  const last = bytes.findLastIndex((byte) => byte !== 0);
  return [...bytes.subarray(0, last + 1)].map((byte) => byte.toString(16).toUpperCase());
}

/** What the standard allows. */
const MOST_ID = 15;
const MOST_DEPTH = 16;
/** Offset of the general profile, tier and level: after the header and one byte. */
const PROFILE_AT = 3;
const PROFILE_BYTES = 12;

/** Parses an SPS (ITU-T H.265, section 7.3.2.2.1) up to the pixel aspect ratio; undefined if malformed. */
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
    // In H.265 each field is an access unit of its own.
    fieldOf: () => undefined,
    record: (sets) => hevcRecord(abilities, sets),
  };
}

/** Skips profile, tier and level, those of the sub-layers included (section 7.3.3). */
function skipProfile(reader: BitReader, subLayers: number): void {
  reader.skip(PROFILE_BYTES * 8);
  const present = Array.from({ length: subLayers }, () => [reader.flag(), reader.flag()] as const);
  if (subLayers > 0) reader.skip((8 - subLayers) * 2);
  for (const [hasProfile, hasLevel] of present) reader.skip((hasProfile ? 88 : 0) + (hasLevel ? 8 : 0));
}

/** Picture size after cropping; the cropping is in units of table 6-1. */
function sizeIn(reader: BitReader, chromaFormat: number): PictureSize {
  const [across, down] = [reader.unsigned(), reader.unsigned()];
  const [left, right, top, bottom] = croppingIn(reader);
  const unitAcross = chromaFormat === 1 || chromaFormat === 2 ? 2 : 1;
  const unitDown = chromaFormat === 1 ? 2 : 1;
  const [width, height] = [across - (left + right) * unitAcross, down - (top + bottom) * unitDown];
  return { width, height, coded: across * down };
}

const HEADER = 2;

/** Single NAL units, aggregation packets and fragmentation units, without decoding order numbers (RFC 7798, section 4.4). */
function readPayload(payload: Buffer): NalPayload {
  const type = typeOf(payload);
  if (type === NAL.paci) return 'unsupported';
  const [first, second, header] = payload;
  if (first === undefined || second === undefined) return 'damaged';
  if (type === NAL.ap) return aggregated(payload.subarray(HEADER));
  if (type !== NAL.fu) return [Buffer.from(payload)];
  if (header === undefined) return 'damaged';
  return {
    header: Buffer.from([(first & 0x81) | ((header & 0x3f) << 1), second]),
    piece: payload.subarray(HEADER + 1),
    isStart: (header & 0x80) !== 0,
    isEnd: (header & 0x40) !== 0,
  };
}

/** Bytes of a slice that contain all header fields read here. */
const HEAD = 16;
const HEADER_BITS = 16;
/** Bits after the id: layers, 16 reserved bits, profile, tier and level. */
const LEVEL_BITS = 12 + 16 + 96;
/** Slice type I (table 7-7). */
const INTRA = 2;
const MOST_PPS = 63;

/** H.265 (ITU-T H.265). */
export const h265: VideoCodec = {
  name: 'h265',
  payload: readPayload,
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
  const reader = readerOf(nal.subarray(0, HEAD), HEADER_BITS);
  const isFirst = reader.flag();
  if (isIrap(type)) reader.skip(1);
  const pps = reader.unsigned();
  if (reader.exceeded || pps > MOST_PPS) return undefined;
  // In the base layer, no reserved bits precede the slice type.
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

/** The id of a VPS (section 7.3.2.1); undefined if it is truncated. */
function readVps(nal: Buffer): { id: number } | undefined {
  const reader = readerOf(nal, HEADER_BITS);
  const id = reader.bits(4);
  reader.skip(LEVEL_BITS);
  return reader.exceeded || !reader.hasEnd ? undefined : { id };
}

/**
 * Parses a PPS up to tiles, scaling lists or extensions (section 7.3.2.3.1). A truncated one is rejected: it would replace a
 * good one.
 */
function readPps(nal: Buffer): Pps | undefined {
  const reader = readerOf(nal, HEADER_BITS);
  const [id, sps] = [reader.unsigned(), reader.unsigned()];
  reader.skip(7);
  // Numbers of reference pictures, and the initial quantizer.
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
    // Only a PPS without scaling lists is read further.
    if (!reader.flag()) {
      reader.skip(1);
      reader.unsigned();
      reader.skip(2);
    }
  }
  return reader.exceeded || !reader.hasEnd || id > MOST_PPS || sps > MOST_ID ? undefined : { id, sps };
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

/** The `HEVCDecoderConfigurationRecord` (ISO/IEC 14496-15, section 8.3.3.1), optional fields unspecified. */
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
  return Buffer.concat([Buffer.from([COMPLETE | type]), length16(nals.length), withLengths(nals)]);
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

/** 0 for the base layer, which every decoder decodes. */
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

/** RASL: shown before the key frame that precedes it, and may reference pictures before that key frame. */
function isRasl(type: number): boolean {
  return type === NAL.raslN || type === NAL.raslR;
}

/** Limits of the standard: reference picture sets, pictures per set, and long-term reference pictures. */
const MOST_SETS = 64;
const MOST_PICTURES = 16;
const MOST_LONG_TERM = 32;

/**
 * Skips the fields of an SPS between the bit depths and the usability information (ITU-T H.265, section 7.3.2.2.1).
 * @returns false where a field is invalid or missing
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
      const isPresent = reader.flag();
      // Either the number of another list to copy, or all values, for the larger sizes preceded by a start
      // value.
      skipNumbers(reader, isPresent ? Math.min(64, 16 << (2 * size)) + (size > 1 ? 1 : 0) : 1);
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
