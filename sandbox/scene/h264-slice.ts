import { BitReader, BitWriter, escaped, unescaped } from './bits';

const HEADER_BITS = 8;

/** Number of the first macroblock of a slice, counted in rows from the top left (H.264, section 7.3.3). */
export function firstMacroblock(slice: Buffer): number {
  return new BitReader(unescaped(slice.subarray(0, 12)), HEADER_BITS).ue();
}

/**
 * The same slice at another place of the picture. A slice is predicted from nothing outside of itself, so an intra slice
 * that stays within a row shows the same wherever it stands; its address is the first thing it tells (CAVLC, so the rest
 * is moved bit by bit).
 */
export function atMacroblock(slice: Buffer, first: number): Buffer {
  const raw = unescaped(slice);
  const reader = new BitReader(raw, HEADER_BITS);
  reader.ue();
  const writer = new BitWriter();
  writer.copy(raw, 0, HEADER_BITS);
  writer.ue(first);
  writer.copy(raw, reader.position, endOfData(raw));
  return escaped(writer.bytes);
}

/** The position after the stop bit (H.264, section 7.3.2.11): what follows it are zeros up to the end of the byte. */
export function endOfData(raw: Buffer): number {
  for (let end = raw.length * 8; end > 0; end--) {
    if (new BitReader(raw, end - 1).bit() === 1) return end;
  }
  return 0;
}
