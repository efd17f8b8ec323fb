const SPACES = ['', 'A', 'B', 'C'] as const;

/** The name of a decoder's abilities, such as `hvc1.1.6.L93.B0` (ISO/IEC 14496-15, annex E.3). */
export function codecStringOf(profile: Buffer): string {
  const first = profile.readUInt8(0);
  const space = SPACES[first >> 6] ?? '';
  const tier = (first & 0x20) === 0 ? 'L' : 'H';
  const compatibility = reversed(profile.readUInt32BE(1)).toString(16).toUpperCase();
  const parts = [
    'hvc1',
    `${space}${first & 0x1f}`,
    compatibility,
    `${tier}${profile.readUInt8(11)}`,
    ...constraintsOf(profile.subarray(5, 11)),
  ];
  return parts.join('.');
}

/** The lowest bit first. */
function reversed(flags: number): number {
  let value = 0;
  for (let bit = 0; bit < 32; bit += 1) value = value * 2 + ((flags >>> bit) & 1);
  return value;
}

/** Byte by byte, without the zeros at the end. */
function constraintsOf(bytes: Buffer): string[] {
  const last = bytes.findLastIndex((byte) => byte !== 0);
  return [...bytes.subarray(0, last + 1)].map((byte) => byte.toString(16).toUpperCase());
}
