import { brotliDecompressSync } from 'node:zlib';

/**
 * A file of scripts/make-fixture.ts: the length of the index (four bytes), the index as JSON in Brotli, and the parts one after
 * the other. A part is kept once, however many pictures it is in, so that a scene takes a fraction of its video.
 */
export class PartsFile<Index extends { lengths: number[] }> {
  readonly index: Index;
  readonly #parts: readonly Buffer[];

  /** @throws where the file is not whole, or its index is none of this kind */
  constructor(bytes: Buffer, isIndex: (value: unknown) => value is Index) {
    const begin = 4 + bytes.readUInt32BE(0);
    const index: unknown = JSON.parse(brotliDecompressSync(bytes.subarray(4, begin)).toString('utf8'));
    if (!isIndex(index)) throw new Error('A file of the sandbox is of another kind: make it again.');
    this.index = index;
    let at = begin;
    this.#parts = index.lengths.map((length) => bytes.subarray(at, (at += length)));
    if (at !== bytes.length) throw new Error('A file of the sandbox is not whole: make it again.');
  }

  part(number: number): Buffer {
    const part = this.#parts[number];
    if (part === undefined)
      throw new RangeError(`A file of the sandbox has no part ${number}: make it again.`);
    return part;
  }
}

/** True for an object that has these fields. */
export function hasFields(value: unknown, ...names: readonly string[]): boolean {
  return typeof value === 'object' && value !== null && names.every((name) => name in value);
}
