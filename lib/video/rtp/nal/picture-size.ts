import type { PixelAspect } from '../../media';
import type { BitReader } from '../../../bytes';

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
