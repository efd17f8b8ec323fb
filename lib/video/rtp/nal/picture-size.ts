/** Pixels of a side. */
const MOST_OF_SIDE = 16_384;
/**
 * Pixels of a whole picture as it is coded, at the highest common level of both codecs (ITU-T H.264, table A-1; H.265, table A.8;
 * level 6.2): somewhat more than 8K. Decoders take memory for it, many times over, whatever little of it is shown or sent.
 */
const MOST_IN_ALL = 35_651_584;

/** What a sequence parameter set says of the size of its pictures. */
export interface PictureSize {
  /** As shown, in pixels. */
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
