import { BitReader } from '../../bytes';
import {
  aggregated,
  croppingIn,
  type Field,
  isPictureSize,
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

/** Chroma format and bit depths. */
interface Sampling {
  chromaFormat: number;
  separatePlanes: boolean;
  bitDepthLuma: number;
  bitDepthChroma: number;
}

/** Lengths of NAL units in the file have four bytes. */
const LENGTHS = 0xff;

/**
 * The `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, section 5.3.3.1).
 * @param sampling of the high profiles only
 */
function avcRecord(sps: Buffer, pps: readonly Buffer[], sampling: Sampling | undefined): Buffer {
  return Buffer.concat([
    Buffer.from([1]),
    sps.subarray(1, 4),
    Buffer.from([LENGTHS, 0xe1]),
    withLengths([sps]),
    Buffer.from([pps.length]),
    withLengths(pps),
    ...(sampling ? [samplingBytes(sampling)] : []),
  ]);
}

/** Without SPS extensions. */
function samplingBytes({ chromaFormat, bitDepthLuma, bitDepthChroma }: Sampling): Buffer {
  return Buffer.from([0xfc | chromaFormat, 0xf8 | (bitDepthLuma - 8), 0xf8 | (bitDepthChroma - 8), 0]);
}

/** Profiles whose SPS contains chroma format and bit depths (ITU-T H.264, section 7.3.2.1.1). */
const HIGH_PROFILES: ReadonlySet<number> = new Set([
  44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244,
]);
/** What the standard allows. */
const MOST_ID = 31;
const MOST_DEPTH = 14;
const HEADER_BITS = 8;
/** Bytes of a slice that contain all header fields read here. */
const HEAD = 24;

const BASELINE: Sampling = { chromaFormat: 1, separatePlanes: false, bitDepthLuma: 8, bitDepthChroma: 8 };

/** Parses an SPS (ITU-T H.264, section 7.3.2.1.1) up to the pixel aspect ratio; undefined if malformed. */
function readSps(nal: Buffer): Sps | undefined {
  const reader = readerOf(nal, HEADER_BITS);
  const profile = reader.bits(8);
  reader.skip(16);
  const id = reader.unsigned();
  const isHigh = HIGH_PROFILES.has(profile);
  const sampling = isHigh ? samplingIn(reader) : BASELINE;
  const frameNumberBits = skipOrder(reader);
  const size = sizeIn(reader, sampling);
  if (reader.exceeded || id > MOST_ID || !isKnown(sampling) || !isPictureSize(size)) return undefined;
  return {
    id,
    vps: undefined,
    width: size.width,
    height: size.height,
    pixelAspect: pixelAspectIn(reader),
    fieldOf: (slice) => (size.isWhole ? undefined : fieldOf(slice, sampling, frameNumberBits)),
    codecString: `avc1.${nal.toString('hex', 1, 4).toUpperCase()}`,
    record: ({ sps, pps }) => avcRecord(sps, pps, isHigh ? sampling : undefined),
  };
}

function isKnown({ chromaFormat, bitDepthLuma, bitDepthChroma }: Sampling): boolean {
  return chromaFormat <= 3 && bitDepthLuma <= MOST_DEPTH && bitDepthChroma <= MOST_DEPTH;
}

function samplingIn(reader: BitReader): Sampling {
  const chromaFormat = reader.unsigned();
  const separatePlanes = chromaFormat === 3 && reader.flag();
  const bitDepthLuma = reader.unsigned() + 8;
  const bitDepthChroma = reader.unsigned() + 8;
  reader.skip(1);
  if (reader.flag()) skipScalingLists(reader, chromaFormat === 3 ? 12 : 8);
  return { chromaFormat, separatePlanes, bitDepthLuma, bitDepthChroma };
}

/** Section 7.3.2.1.1.1: six lists of 16, the others of 64. */
function skipScalingLists(reader: BitReader, count: number): void {
  for (let list = 0; list < count; list += 1) if (reader.flag()) skipScalingList(reader, list < 6 ? 16 : 64);
}

function skipScalingList(reader: BitReader, size: number): void {
  let last = 8;
  for (let index = 0; index < size; index += 1) {
    last = (last + reader.signed() + 256) % 256;
    // All remaining values repeat the last one.
    if (last === 0) return;
  }
}

/** Skips the frame numbering and the display order. @returns bits of a frame number */
function skipOrder(reader: BitReader): number {
  const bits = reader.unsigned() + 4;
  const kind = reader.unsigned();
  if (kind === 0) reader.unsigned();
  else if (kind === 1) {
    reader.skip(1);
    reader.signed();
    reader.signed();
    const offsets = reader.unsigned();
    for (let index = 0; index < offsets && !reader.exceeded; index += 1) reader.signed();
  }
  // How many reference frames there are, and whether numbers may be missing.
  reader.unsigned();
  reader.skip(1);
  return bits;
}

/**
 * Picture size, coded in macroblocks of 16 pixels, after cropping; the cropping is in units of section 7.4.2.1.1. `isWhole`
 * where fields are never coded separately.
 */
function sizeIn(
  reader: BitReader,
  { chromaFormat, separatePlanes }: Sampling,
): PictureSize & { isWhole: boolean } {
  const across = reader.unsigned() + 1;
  const down = reader.unsigned() + 1;
  const fieldsPerFrame = reader.flag() ? 1 : 2;
  if (fieldsPerFrame === 2) reader.skip(1);
  reader.skip(1);
  const [left, right, top, bottom] = croppingIn(reader);
  const isShared = !separatePlanes;
  const unitAcross = isShared && (chromaFormat === 1 || chromaFormat === 2) ? 2 : 1;
  const unitDown = (isShared && chromaFormat === 1 ? 2 : 1) * fieldsPerFrame;
  return {
    width: across * 16 - (left + right) * unitAcross,
    height: down * 16 * fieldsPerFrame - (top + bottom) * unitDown,
    coded: across * 16 * down * 16 * fieldsPerFrame,
    isWhole: fieldsPerFrame === 1,
  };
}

/** Section 7.3.3. */
function fieldOf(slice: Buffer, { separatePlanes }: Sampling, frameNumberBits: number): Field | undefined {
  const reader = readerOf(slice.subarray(0, HEAD), HEADER_BITS);
  for (let numbers = 0; numbers < 3; numbers += 1) reader.unsigned();
  reader.skip((separatePlanes ? 2 : 0) + frameNumberBits);
  if (!reader.flag()) return undefined;
  return reader.flag() ? 'bottom' : 'top';
}

/** Packets of the modes 0 and 1 (RFC 6184, section 6): single NAL units, STAP-A and FU-A (section 5.8). */
function readPayload(payload: Buffer): NalPayload {
  const type = typeOf(payload);
  // Those of the interleaved mode: STAP-B, MTAP and FU-B.
  if (type > NAL.stapA && type <= NAL.fuB && type !== NAL.fuA) return 'unsupported';
  if (type === NAL.stapA) return aggregated(payload.subarray(1));
  if (type !== NAL.fuA) return [Buffer.from(payload)];
  const [indicator, header] = payload;
  if (indicator === undefined || header === undefined) return 'damaged';
  return {
    header: Buffer.from([(indicator & 0xe0) | (header & 0x1f)]),
    piece: payload.subarray(2),
    isStart: (header & 0x80) !== 0,
    isEnd: (header & 0x40) !== 0,
  };
}

const RECOVERY_POINT = 6;

/** SEI recovery point: decoding can begin at this picture, at once, though perhaps not exactly. */
const RECOVERY_UNIT = Buffer.from([6, RECOVERY_POINT, 1, 0b1000_0100, 0x80]);

/**
 * Whether an SEI unit says that decoding can begin at this picture, and that this picture and all later ones are exact (ITU-T
 * H.264, sections 7.3.2.3 and D.2.8). A gradual refresh, complete only some pictures later, does not count.
 */
function isRecoveryPoint(nal: Buffer): boolean {
  const bytes = removeEmulationPrevention(nal);
  let at = 1;
  // The last byte contains the stop bit.
  while (at + 2 < bytes.length) {
    const type = extended(bytes, at);
    const size = extended(bytes, type.end);
    if (type.value === RECOVERY_POINT) {
      const reader = new BitReader(bytes.subarray(size.end, size.end + size.value));
      return reader.unsigned() === 0 && !reader.exceeded;
    }
    at = size.end + size.value;
  }
  return false;
}

/** A number coded as bytes of 255 and a last byte below that. */
function extended(bytes: Buffer, from: number): { value: number; end: number } {
  let [value, at] = [0, from];
  while (bytes[at] === 0xff) {
    value += 0xff;
    at += 1;
  }
  return { value: value + (bytes[at] ?? 0), end: at + 1 };
}

const MOST_PPS = 255;
/** Slice types I, and I for all slices of the picture (ITU-T H.264, table 7-6). */
const INTRA: readonly number[] = [2, 7];

/** H.264 (ITU-T H.264). */
export const h264: VideoCodec = {
  name: 'h264',
  payload: readPayload,
  roleOf,
  slice: readSlice,
  vps: () => undefined,
  sps: readSps,
  pps: readPps,
  recovery: [RECOVERY_UNIT],
};

function roleOf(nal: Buffer): NalRole {
  const type = typeOf(nal);
  if (type === NAL.slice || type === NAL.idr) return 'slice';
  if (type === NAL.sps) return 'sps';
  if (type === NAL.pps) return 'pps';
  return type === NAL.sei && isRecoveryPoint(nal) ? 'recovery' : 'other';
}

/** Section 7.3.3. */
function readSlice(nal: Buffer): Slice | undefined {
  const reader = readerOf(nal.subarray(0, HEAD), HEADER_BITS);
  const isFirst = reader.unsigned() === 0;
  const type = reader.unsigned();
  const pps = reader.unsigned();
  if (reader.exceeded || pps > MOST_PPS) return undefined;
  const entry = typeOf(nal) === NAL.idr ? 'clean' : undefined;
  return { isFirst, pps, entry, isIntra: INTRA.includes(type), isBrokenLink: false, reachesBack: true };
}

/** Parses a PPS (section 7.3.2.2). A truncated one is rejected: it would replace a good one. */
function readPps(nal: Buffer): Pps | undefined {
  const reader = readerOf(nal, HEADER_BITS);
  const [id, sps] = [reader.unsigned(), reader.unsigned()];
  reader.skip(2);
  const hasGroups = reader.unsigned() > 0;
  if (!hasGroups) {
    for (let references = 0; references < 2; references += 1) reader.unsigned();
    reader.skip(3);
    for (let quantizers = 0; quantizers < 3; quantizers += 1) reader.unsigned();
    reader.skip(3);
  }
  return reader.exceeded || !reader.hasEnd || id > MOST_PPS || sps > MOST_ID ? undefined : { id, sps };
}

/** ITU-T H.264, table 7-1; from 24: RFC 6184, table 1. */
const NAL = {
  slice: 1,
  idr: 5,
  sei: 6,
  sps: 7,
  pps: 8,
  stapA: 24,
  fuA: 28,
  fuB: 29,
} as const;

function typeOf(nal: Buffer): number {
  return (nal[0] ?? 0) & 0x1f;
}
