import assert from 'node:assert/strict';

/** Width and height as a JPEG's frame header says them. */
export function sizeOf(jpeg: Buffer): { width: number; height: number } {
  for (let at = 2; at < jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) {
    const marker = jpeg.readUInt16BE(at);
    if (marker >= 0xffc0 && marker <= 0xffc2) {
      return { width: jpeg.readUInt16BE(at + 7), height: jpeg.readUInt16BE(at + 5) };
    }
  }
  return assert.fail('no frame header');
}
