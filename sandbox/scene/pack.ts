import { PartsFile, hasFields } from './parts-file';

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

/** The video of a scene in parts. */
export class Pack extends PartsFile<PackIndex> {
  constructor(bytes: Buffer) {
    super(bytes, isPackIndex);
  }
}

function isPackIndex(value: unknown): value is PackIndex {
  return hasFields(value, 'codec', 'bFrames', 'lengths', 'parameterSets', 'shots');
}
