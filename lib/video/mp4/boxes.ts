/** Boxes of an MP4 and the numbers in them (ISO/IEC 14496-12, section 4.2). */

export function box(type: string, ...content: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(8);
  const whole = Buffer.concat([head, ...content]);
  whole.writeUInt32BE(whole.length);
  whole.write(type, 4, 'latin1');
  return whole;
}

/** A box with version and flags. */
export function fullBox(type: string, version: number, flags: number, ...content: readonly Buffer[]): Buffer {
  return box(type, u32(version * 2 ** 24 + flags), ...content);
}

export function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2);
  return bytes;
}

export function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

export function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** @param value below 2^53 */
export function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

export function text(characters: string): Buffer {
  return Buffer.from(characters, 'latin1');
}

export function zeros(bytes: number): Buffer {
  return Buffer.alloc(bytes);
}
