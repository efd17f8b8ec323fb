/** A NAL unit without its emulation prevention bytes (H.264, section 7.4.1; H.265, section 7.4.2). */
export function unescaped(nal: Buffer): Buffer {
  const bytes: number[] = [];
  let zeros = 0;
  for (const byte of nal) {
    const inserted = zeros >= 2 && byte === 3;
    zeros = byte === 0 ? zeros + 1 : 0;
    if (!inserted) bytes.push(byte);
  }
  return Buffer.from(bytes);
}

/** A NAL unit with emulation prevention bytes, as it is sent. */
function escaped(raw: Buffer): Buffer {
  const bytes: number[] = [];
  let zeros = 0;
  for (const byte of raw) {
    if (zeros >= 2 && byte <= 3) {
      bytes.push(3);
      zeros = 0;
    }
    bytes.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Buffer.from(bytes);
}

/** Reads bits from the first on. */
class SliceBitReader {
  position: number;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, position = 0) {
    this.#bytes = bytes;
    this.position = position;
  }

  bit(): number {
    const byte = this.#bytes[this.position >>> 3] ?? 0;
    return (byte >>> (7 - (this.position++ & 7))) & 1;
  }

  bits(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i++) value = value * 2 + this.bit();
    return value;
  }

  /** Unsigned Exp-Golomb code (H.264, section 9.1). */
  ue(): number {
    let zeros = 0;
    while (zeros < 32 && this.bit() === 0) zeros++;
    return 2 ** zeros - 1 + this.bits(zeros);
  }
}

/** Puts bits together to bytes. */
class SliceBitWriter {
  readonly #bytes: number[] = [];
  #count = 0;

  bit(bit: number): void {
    const at = this.#count >>> 3;
    this.#bytes[at] = (this.#bytes[at] ?? 0) | (bit << (7 - (this.#count & 7)));
    this.#count++;
  }

  bits(value: number, count: number): void {
    for (let i = count - 1; i >= 0; i--) this.bit(Math.floor(value / 2 ** i) & 1);
  }

  ue(value: number): void {
    const length = Math.floor(Math.log2(value + 1));
    this.bits(0, length);
    this.bits(value + 1, length + 1);
  }

  /** Appends the bits `from` (inclusive) to `to` (exclusive) of another buffer. */
  copy(bytes: Buffer, from: number, to: number): void {
    const reader = new SliceBitReader(bytes, from);
    for (let i = from; i < to; i++) this.bit(reader.bit());
  }

  /** The written bits, padded with zeros to a whole byte. */
  get bytes(): Buffer {
    return Buffer.from(this.#bytes);
  }
}

const HEADER_BITS = 8;

/** Number of the first macroblock of a slice, counted in rows from the top left (H.264, section 7.3.3). */
export function firstMacroblock(slice: Buffer): number {
  return new SliceBitReader(unescaped(slice.subarray(0, 12)), HEADER_BITS).ue();
}

/**
 * The same slice at another macroblock address. An intra slice is predicted only from itself, so one that stays within a row
 * looks the same at any position. The address is the first field of its header; with CAVLC the rest of the slice can be shifted
 * bit by bit.
 */
export function atMacroblock(slice: Buffer, first: number): Buffer {
  const raw = unescaped(slice);
  const reader = new SliceBitReader(raw, HEADER_BITS);
  reader.ue();
  const writer = new SliceBitWriter();
  writer.copy(raw, 0, HEADER_BITS);
  writer.ue(first);
  writer.copy(raw, reader.position, endOfData(raw));
  return escaped(writer.bytes);
}

/** The position after the stop bit (H.264, section 7.3.2.11): what follows it are zeros up to the end of the byte. */
function endOfData(raw: Buffer): number {
  for (let end = raw.length * 8; end > 0; end--) {
    if (new SliceBitReader(raw, end - 1).bit() === 1) return end;
  }
  return 0;
}
