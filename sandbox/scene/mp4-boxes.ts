type Field = Buffer | number;

/** A box of an MP4 (ISO/IEC 14496-12, section 4.2): its size, its name, its content. Numbers are fields of 32 bits. */
export function box(name: string, ...content: readonly Field[]): Buffer {
  const bytes = Buffer.concat(content.map((field) => (typeof field === 'number' ? u32(field) : field)));
  return Buffer.concat([u32(bytes.length + 8), Buffer.from(name, 'latin1'), bytes]);
}

/** A box with version 0 and flags. */
export function fullBox(name: string, flags: number, ...content: readonly Field[]): Buffer {
  return box(name, flags, ...content);
}

export function u16(value: number): Buffer {
  return Buffer.from([(value >>> 8) & 0xff, value & 0xff]);
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** 36 bytes that turn nothing around (ISO/IEC 14496-12, section 8.2.2). */
export const UNITY_MATRIX = Buffer.concat([0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].map(u32));
