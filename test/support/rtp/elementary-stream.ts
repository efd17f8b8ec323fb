import assert from 'node:assert/strict';
import fs from 'node:fs';

/** The NAL units of a byte stream (ITU-T H.264, annex B). */
export function unitsIn(bytes: Buffer): Buffer[] {
  const starts: number[] = [];
  for (
    let at = bytes.indexOf('\0\0\x01', 0, 'latin1');
    at >= 0;
    at = bytes.indexOf('\0\0\x01', at + 3, 'latin1')
  )
    starts.push(at + 3);
  return starts.map((start, index) =>
    withoutZeros(bytes.subarray(start, (starts[index + 1] ?? bytes.length + 3) - 3)),
  );
}

/** Those at the end belong to the next start code. */
function withoutZeros(unit: Buffer): Buffer {
  const last = unit.findLastIndex((byte) => byte !== 0);
  return unit.subarray(0, last + 1);
}

/** The access units of a file with an ADTS head before each (ISO/IEC 13818-7, section 6.2). */
export function accessUnitsOf(file: string): Buffer[] {
  const bytes = fs.readFileSync(file);
  const units: Buffer[] = [];
  for (let at = 0; at + 7 <= bytes.length;) {
    const length = (bytes.readUInt32BE(at + 3) >>> 13) & 0x1fff;
    units.push(bytes.subarray(at + 7, at + length));
    at += length;
  }
  return units;
}

/** What stands in the first box of an MP4 with this name. */
export function boxIn(bytes: Buffer, name: string): Buffer {
  const at = bytes.indexOf(name, 0, 'latin1');
  assert.ok(at > 0, `no ${name}`);
  return bytes.subarray(at + 4, at - 4 + bytes.readUInt32BE(at - 4));
}
