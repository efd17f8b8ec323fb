import type { PixelAspect } from '../../media';
import type { BitReader } from '../bits/bit-reader';

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
