/** Writes fields of bits, the highest first. */
export class FuzzBitWriter {
  readonly #bits: number[] = [];

  bits(value: number, count: number): this {
    for (let bit = count - 1; bit >= 0; bit -= 1) this.#bits.push(Math.floor(value / 2 ** bit) % 2);
    return this;
  }

  /** `ue(v)`: ITU-T H.264, section 9.1. */
  unsigned(value: number): this {
    const code = value + 1;
    const length = Math.floor(Math.log2(code));
    return this.bits(0, length).bits(code, length + 1);
  }

  /** `se(v)`. */
  signed(value: number): this {
    return this.unsigned(value > 0 ? value * 2 - 1 : -value * 2);
  }

  /** Ended by a bit that is set, and filled up with zeros, as NAL units are. */
  trailed(): Buffer {
    return this.bits(1, 1).filled();
  }

  /** Filled up with zeros. */
  filled(): Buffer {
    const bytes = Buffer.alloc(Math.ceil(this.#bits.length / 8));
    for (const [at, bit] of this.#bits.entries())
      bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (bit << (7 - (at & 7)));
    return bytes;
  }
}

/** A unit with a 3 wherever its bytes could be taken for a start code (ITU-T H.264, section 7.4.1). */
export function escaped(bytes: Buffer): Buffer {
  const written: number[] = [];
  for (const byte of bytes) {
    if (byte <= 3 && written.at(-1) === 0 && written.at(-2) === 0) written.push(3);
    written.push(byte);
  }
  return Buffer.from(written);
}
