import type { BitReader } from '../../../bytes';

/** What the standard allows: sets of reference pictures, pictures in one, and pictures that stay for long. */
const MOST_SETS = 64;
const MOST_PICTURES = 16;
const MOST_LONG_TERM = 32;

/**
 * Goes on in a sequence parameter set from the depth of colours to the usability information (ITU-T H.265, section 7.3.2.2.1).
 * @returns false where it cannot be read so far
 */
export function skipToUsability(reader: BitReader, subLayers: number): boolean {
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
