import { brotliDecompressSync } from 'node:zlib';

/** The pictures of a scene, empty and with an intruder, each as the numbers of its parts in their order. */
export interface Shots {
  idle: number[][];
  intruder: number[][];
}

export interface Moments<T> {
  day: T;
  night: T;
}

/** What a pack holds beside the parts themselves. */
export interface PackIndex {
  codec: 'h264' | 'h265';
  /** Pictures come in an order other than that in which they are shown. */
  bFrames: boolean;
  /** Bytes of each part. */
  lengths: number[];
  parameterSets: number[];
  /** H.264: parts that go to any place of a key frame: words, and rows of a square of the bar, from the top. */
  overlay?: { glyphs: Record<string, number>; off: number[]; on: number[] };
  /** H.265: the uppermost part of a key frame, for each second of the bar. */
  bars?: Moments<number[]>;
  shots: Moments<Shots>;
}

/**
 * A file of scripts/make-fixture.ts: the length of the index (four bytes), the index as JSON in Brotli, and the parts one after
 * the other. A part is kept once, however many pictures it is in, so that a scene takes a fraction of its video.
 */
export class Pack {
  readonly index: PackIndex;
  readonly #parts: readonly Buffer[];

  constructor(bytes: Buffer) {
    const begin = 4 + bytes.readUInt32BE(0);
    this.index = JSON.parse(brotliDecompressSync(bytes.subarray(4, begin)).toString('utf8')) as PackIndex;
    let at = begin;
    this.#parts = this.index.lengths.map((length) => bytes.subarray(at, (at += length)));
    if (at !== bytes.length) throw new Error('A pack of the sandbox is not whole: make it again.');
  }

  part(number: number): Buffer {
    const part = this.#parts[number];
    if (part === undefined) throw new RangeError(`A pack has no part ${number}: make it again.`);
    return part;
  }
}
