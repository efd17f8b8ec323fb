import { BitReader } from '../../../bytes';
import { unescaped } from '../bits/unescaped';
import { isPictureSize, pixelAspectIn, type PictureSize } from '../nal/picture-size';
import type { Sps } from '../nal/video-codec';
import { codecStringOf } from './codec-string';
import { hevcRecord } from './hevc-record';
import { skipToUsability } from './usability';

/** What the standard allows. */
const MOST_ID = 15;
const MOST_DEPTH = 16;
/** Where the general part of the profile, tier and level begins: behind the header and one byte. */
const PROFILE_AT = 3;
const PROFILE_BYTES = 12;

/** Reads a sequence parameter set (ITU-T H.265, section 7.3.2.2.1) as far as the shape of pixels; undefined where it cannot be read. */
export function readSps(nal: Buffer): Sps | undefined {
  const bytes = unescaped(nal);
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
