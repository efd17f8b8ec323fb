import { brotliDecompressSync } from 'node:zlib';

/**
 * A committed file of a scene: the length of the index (four bytes), the index as JSON in Brotli, and the parts one after the
 * other. A part is kept once, however many pictures it is in, so that a scene takes a fraction of its video.
 */
class PartsFile<Index extends { lengths: number[] }> {
  readonly index: Index;
  readonly #parts: readonly Buffer[];

  /** @throws Error if the file is incomplete or its index is of another kind */
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
function hasFields(value: unknown, ...names: readonly string[]): boolean {
  return typeof value === 'object' && value !== null && names.every((name) => name in value);
}

/** The pictures of a scene, empty and with an intruder; each is a list of part numbers. */
export interface Shots {
  idle: number[][];
  intruder: number[][];
}

interface Moments<T> {
  day: T;
  night: T;
}

export interface PackIndex {
  codec: 'h264' | 'h265';
  /** True if pictures are stored in an order other than display order. */
  bFrames: boolean;
  /** Bytes of each part. */
  lengths: number[];
  parameterSets: number[];
  /** H.264: parts for any position of a key frame: words, and the rows of a square of the bar (top first). */
  overlay?: { glyphs: Record<string, number>; off: number[]; on: number[] };
  /** H.265: the top part of a key frame, one for each second of the bar. */
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

/** Part numbers of the cells of a picture, from the top left, row by row. */
type Cells = number[];

/** The pictures of one width. */
interface StillsIndex {
  width: number;
  columns: number;
  /** Part number of the JPEG up to its first cell (ITU-T T.81: each cell is a restart interval). */
  head: number;
  idle: Moments<Cells>;
  /** By the second of the intruder's visit. */
  intruder: Moments<Cells[]>;
  /** The cells that the bar covers, and their content for each of its 60 seconds. */
  barCells: number[];
  bars: Moments<Cells[]>;
  /** First cell of the caption; absent if the picture is too small for one. */
  text?: { first: number; glyphs: Record<string, number> };
}

interface StillsFile {
  lengths: number[];
  /** Smallest first. */
  widths: StillsIndex[];
}

/** The snapshots of a scene, assembled from JPEG cells that do not depend on their neighbours. */
export class Stills {
  readonly #file: PartsFile<StillsFile>;

  constructor(bytes: Buffer) {
    this.#file = new PartsFile(bytes, isStillsFile);
  }

  /** The JPEG of an epoch second: the largest that is not wider than `width` pixels, else the smallest. */
  jpeg(second: number, subject: Subject, width: number): Buffer {
    const { widths } = this.#file.index;
    const index = widths.findLast((known) => known.width <= width) ?? widths[0];
    if (index === undefined) throw new RangeError('There are no snapshots: make them again.');
    const visit = subject.intruder(second);
    const intruder = visit === undefined ? undefined : atTimeOfDay(second, index.intruder)[visit];
    const cells = [...(intruder ?? atTimeOfDay(second, index.idle))];
    const bar = atTimeOfDay(second, index.bars)[barSecond(second)] ?? [];
    for (const [i, cell] of index.barCells.entries()) cells[cell] = bar[i] ?? 0;
    putText(cells, index, captionOf(second, subject.label));
    return this.#joined(index.head, cells);
  }

  // Cells are separated by restart markers, which count from 0 to 7 (ITU-T T.81, section B.2.1).
  #joined(head: number, cells: Cells): Buffer {
    const parts = cells.flatMap((cell, i) => [this.#file.part(cell), Buffer.from([0xff, 0xd0 + (i % 8)])]);
    return Buffer.concat([this.#file.part(head), ...parts.slice(0, -1), Buffer.from([0xff, 0xd9])]);
  }
}

function isStillsFile(value: unknown): value is StillsFile {
  return hasFields(value, 'lengths', 'widths');
}

function putText(cells: Cells, { text }: StillsIndex, caption: string): void {
  if (text === undefined) return;
  for (const [i, character] of caption.split('').entries())
    cells[text.first + i] = text.glyphs[character] ?? text.glyphs['?'] ?? 0;
}

/** Samples per AAC frame (ISO/IEC 14496-3). */
export const SAMPLES_PER_FRAME = 1024;

const HEADER = 7;
const SAMPLE_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000,
];

/**
 * The sound of a camera: AAC frames that loop seamlessly. A frame is identified by its number since the epoch, so that a moment
 * always sounds the same.
 */
export class Sound {
  readonly sampleRate: number;
  readonly channels: number;
  /** AudioSpecificConfig (ISO/IEC 14496-3, section 1.6.2.1). */
  readonly config: Buffer;
  readonly #frames: readonly Buffer[];

  /** @param adts ADTS frames (ISO/IEC 13818-7, section 6.2) */
  constructor(adts: Buffer) {
    const rate = ((adts[2] ?? 0) >>> 2) & 15;
    this.sampleRate = SAMPLE_RATES[rate] ?? 0;
    this.channels = (((adts[2] ?? 0) & 1) << 2) | ((adts[3] ?? 0) >>> 6);
    const objectType = ((adts[2] ?? 0) >>> 6) + 1;
    this.config = Buffer.from([(objectType << 3) | (rate >>> 1), ((rate & 1) << 7) | (this.channels << 3)]);
    this.#frames = framesOf(adts);
  }

  /** Frames per second. */
  get rate(): number {
    return this.sampleRate / SAMPLES_PER_FRAME;
  }

  /** The frame with this number since the epoch; every integer has one. */
  frame(number: number): Buffer {
    const count = this.#frames.length;
    const frame = this.#frames[((number % count) + count) % count];
    if (frame === undefined) throw new RangeError(`No frame ${number}: not a whole number.`);
    return frame;
  }
}

function framesOf(adts: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at + HEADER < adts.length;) {
    const length =
      ((adts.readUInt8(at + 3) & 3) << 11) | (adts.readUInt8(at + 4) << 3) | (adts.readUInt8(at + 5) >>> 5);
    if (length <= HEADER) throw new Error('The sound of the sandbox is not whole: make it again.');
    frames.push(adts.subarray(at + HEADER, at + length));
    at += length;
  }
  return frames;
}

/** Epoch second whose bar shows 0: 2025-10-09 08:53:20 UTC. */
const BAR_START = 1_760_000_000;

/** Characters of the caption. */
const LENGTH = 40;

/** The second 0..59 that the bar shows at an epoch second. */
export function barSecond(second: number): number {
  return (((second - BAR_START) % 60) + 60) % 60;
}

/** The text at the lower edge: the time on the left, the name of the camera on the right. */
export function captionOf(second: number, label: string): string {
  const time = new Date(second * 1000).toISOString().replace('T', ' ').slice(0, 19);
  const left = ` ${time} UTC `;
  const free = LENGTH - left.length - 1;
  return `${left}${label.slice(0, free).padStart(free)} `;
}

/** Pictures per second of every scene; a key frame comes every second. */
export const FRAMES_PER_SECOND = 10;

/** What a camera looks at. */
export interface Subject {
  /** Shown in the caption, next to the time. */
  label: string;
  /** Second of the intruder's visit (from 0) that an epoch second shows; undefined = no intruder. */
  intruder(second: number): number | undefined;
}

/** How long an intruder is in the picture: from one second before the second of the alarm on. */
const INTRUDER_SECONDS = 10;

/**
 * The second of an intruder's visit; undefined = the intruder is not in the picture.
 * @param alarm epoch second at which the alarm began
 * @param second epoch second that is shown
 */
export function visitOf(alarm: number, second: number): number | undefined {
  const visit = second - alarm + 1;
  return visit >= 0 && visit < INTRUDER_SECONDS ? visit : undefined;
}

const DAY = { from: 6, to: 18 } as const;

/** Day is from 06:00 to 18:00 UTC. */
export function atTimeOfDay<T>(second: number, moments: Moments<T>): T {
  const hour = ((Math.floor(second / 3600) % 24) + 24) % 24;
  return hour >= DAY.from && hour < DAY.to ? moments.day : moments.night;
}
