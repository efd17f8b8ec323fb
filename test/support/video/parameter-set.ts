/** Reads a sequence parameter set of H.264 bit by bit (ITU-T H.264, section 7.3.2.1.1). */
class Bits {
  readonly #bits: string;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  }

  skip(count: number): void {
    this.at += count;
  }

  flag(): boolean {
    this.at += 1;
    return this.#bits[this.at - 1] === '1';
  }

  /** Exp-Golomb code, signed or not. */
  skipNumber(): void {
    const zeros = this.#bits.indexOf('1', this.at) - this.at;
    this.at += 2 * zeros + 1;
  }

  before(): string {
    return this.#bits.slice(0, this.at);
  }
}

/**
 * The same parameter set of Main or Baseline profile without usability information, as many cameras send it: then nothing says
 * how many pictures are decoded before they are shown.
 */
export function withoutUsability(set: Buffer): Buffer {
  const bits = new Bits(set);
  bits.skip(32);
  for (let i = 0; i < 4; i += 1) bits.skipNumber();
  // References; whether frame numbers may be missing; width, height.
  bits.skipNumber();
  bits.skip(1);
  bits.skipNumber();
  bits.skipNumber();
  const framesOnly = bits.flag();
  bits.skip(framesOnly ? 1 : 2);
  if (bits.flag()) for (let i = 0; i < 4; i += 1) bits.skipNumber();
  const kept = `${bits.before()}01`;
  const padded = kept.padEnd(Math.ceil(kept.length / 8) * 8, '0');
  return Buffer.from((padded.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
