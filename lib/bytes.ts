/** Collects bytes in one buffer: stored as chunks, a body that comes byte by byte would take a hundred times its length. */
export class GrowingBuffer {
  length = 0;
  #bytes: Buffer = Buffer.alloc(0);

  /**
   * @param firstSize bytes allocated at first
   * @param onGrowth called with the allocated bytes, whenever they grow
   */
  constructor(
    private readonly firstSize: number,
    private readonly onGrowth: (bytes: number) => void = () => undefined,
  ) {}

  append(chunk: Uint8Array): void {
    const length = this.length + chunk.length;
    if (length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(chunk, this.length);
    this.length = length;
  }

  content(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  #grow(length: number): void {
    const larger = Buffer.alloc(Math.max(this.firstSize, length, this.#bytes.length * 2));
    this.#bytes.copy(larger);
    this.#bytes = larger;
    this.onGrowth(larger.length);
  }
}

/** Most leading zeros of an Exp-Golomb code: more would exceed 32 bits, which no field of a parameter set does. */
const MOST_ZEROS = 31;

/**
 * Reads bit fields, most significant bit first. Beyond the end all bits are zero and `exceeded` is set, so that a caller checks
 * once, at the end of a structure.
 */
export class BitReader {
  #at = 0;
  #exceeded = false;

  constructor(private readonly bytes: Uint8Array) {}

  /** True where more was read than there is, or an invalid code. */
  get exceeded(): boolean {
    return this.#exceeded;
  }

  /** Position of the next bit. */
  get position(): number {
    return this.#at;
  }

  /** Whether a 1 bit is left: one ends each parameter set, behind all its fields (`rbsp_trailing_bits`). */
  get hasEnd(): boolean {
    const rest = this.bytes.subarray(this.#at >>> 3);
    return rest.some((byte, index) => (index === 0 ? byte & (0xff >>> (this.#at & 7)) : byte) !== 0);
  }

  bit(): number {
    const byte = this.bytes[this.#at >>> 3];
    if (byte === undefined) {
      this.#exceeded = true;
      return 0;
    }
    const bit = (byte >>> (7 - (this.#at & 7))) & 1;
    this.#at += 1;
    return bit;
  }

  flag(): boolean {
    return this.bit() === 1;
  }

  /** A number of up to 32 bits. */
  bits(count: number): number {
    let value = 0;
    for (let read = 0; read < count && !this.#exceeded; read += 1) value = value * 2 + this.bit();
    return value;
  }

  skip(count: number): void {
    this.#at += count;
    if (this.#at > this.bytes.length * 8) this.#exceeded = true;
  }

  /** `ue(v)`: ITU-T H.264 and H.265, section 9. */
  unsigned(): number {
    let zeros = 0;
    while (this.bit() === 0) {
      zeros += 1;
      if (zeros > MOST_ZEROS || this.#exceeded) {
        this.#exceeded = true;
        return 0;
      }
    }
    return 2 ** zeros - 1 + this.bits(zeros);
  }

  /** `se(v)`. */
  signed(): number {
    const code = this.unsigned();
    return code % 2 === 1 ? (code + 1) / 2 : -(code / 2);
  }
}
