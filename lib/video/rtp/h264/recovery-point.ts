import { BitReader } from '../../../bytes';
import { unescaped } from '../bits/unescaped';

const RECOVERY_POINT = 6;

/** A unit that says that decoding can begin at its picture: at once, though perhaps not exactly. */
export const RECOVERY_UNIT = Buffer.from([6, RECOVERY_POINT, 1, 0b1000_0100, 0x80]);

/**
 * Whether supplemental information says that decoding can begin at its picture, and that this one and all after it are exact
 * (ITU-T H.264, sections 7.3.2.3 and D.2.8). Cameras with a gradual refresh are whole only some pictures later: those are none.
 */
export function isRecoveryPoint(nal: Buffer): boolean {
  const bytes = unescaped(nal);
  let at = 1;
  // The last byte ends the unit.
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

/** A number in bytes of 255 and a last one that is less. */
function extended(bytes: Buffer, from: number): { value: number; end: number } {
  let [value, at] = [0, from];
  while (bytes[at] === 0xff) {
    value += 0xff;
    at += 1;
  }
  return { value: value + (bytes[at] ?? 0), end: at + 1 };
}
