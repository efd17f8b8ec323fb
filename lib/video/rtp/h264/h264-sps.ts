import { BitReader } from '../../../bytes';
import { unescaped } from '../bits/unescaped';
import { isPictureSize, pixelAspectIn, type PictureSize } from '../nal/picture-size';
import type { Field, Sps } from '../nal/video-codec';
import { avcRecord, type Sampling } from './avc-record';

/** Those whose sets say how colours are sampled (ITU-T H.264, section 7.3.2.1.1). */
const HIGH_PROFILES: ReadonlySet<number> = new Set([
  44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244,
]);
/** What the standard allows. */
const MOST_ID = 31;
const MOST_DEPTH = 14;
/** Bytes of a slice that hold what tells its field. */
const SLICE_HEAD = 24;

const BASELINE: Sampling = { chromaFormat: 1, separatePlanes: false, bitDepthLuma: 8, bitDepthChroma: 8 };

/** Reads a sequence parameter set (ITU-T H.264, section 7.3.2.1.1) as far as the shape of pixels; undefined where it cannot be read. */
export function readSps(nal: Buffer): Sps | undefined {
  const reader = new BitReader(unescaped(nal));
  reader.skip(8);
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
    // The rest is as the last one.
    if (last === 0) return;
  }
}

/** How frames are numbered, and in which order they are shown. @returns bits of the number of a frame */
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

/** In macroblocks of 16 pixels, less what is cut off, in units of section 7.4.2.1.1; `isWhole` where no field is a picture of its own. */
function sizeIn(
  reader: BitReader,
  { chromaFormat, separatePlanes }: Sampling,
): PictureSize & { isWhole: boolean } {
  const across = reader.unsigned() + 1;
  const down = reader.unsigned() + 1;
  const fieldsPerFrame = reader.flag() ? 1 : 2;
  if (fieldsPerFrame === 2) reader.skip(1);
  reader.skip(1);
  const [left, right, top, bottom] = reader.flag()
    ? [reader.unsigned(), reader.unsigned(), reader.unsigned(), reader.unsigned()]
    : [0, 0, 0, 0];
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
  const reader = new BitReader(unescaped(slice.subarray(0, SLICE_HEAD)));
  reader.skip(8);
  for (let numbers = 0; numbers < 3; numbers += 1) reader.unsigned();
  reader.skip((separatePlanes ? 2 : 0) + frameNumberBits);
  if (!reader.flag()) return undefined;
  return reader.flag() ? 'bottom' : 'top';
}
