/** A NAL unit without its emulation prevention bytes: a 3 behind two zeros (ITU-T H.264, section 7.4.1). */
export function unescaped(nal: Buffer): Buffer {
  const bytes = Buffer.alloc(nal.length);
  let length = 0;
  let zeros = 0;
  for (const byte of nal) {
    if (zeros >= 2 && byte === 3) {
      zeros = 0;
      continue;
    }
    zeros = byte === 0 ? zeros + 1 : 0;
    bytes[length] = byte;
    length += 1;
  }
  return bytes.subarray(0, length);
}
