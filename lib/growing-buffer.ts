/** Bytes in one piece: kept chunk by chunk, a body that comes byte by byte would take a hundred times its length. */
export class GrowingBuffer {
  length = 0;
  #bytes: Buffer = Buffer.alloc(0);

  /**
   * @param firstSize bytes that are set aside at first
   * @param onGrowth told how many bytes of memory it takes, whenever that grows
   */
  constructor(
    private readonly firstSize: number,
    private readonly onGrowth: (held: number) => void = () => undefined,
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
