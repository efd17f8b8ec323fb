/** Samples of an AAC frame (ISO/IEC 14496-3). */
export const SAMPLES_PER_FRAME = 1024;

const HEADER = 7;
const SAMPLE_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000,
];

/**
 * The sound of a camera: AAC frames that loop without a seam. A frame is named by its number since the epoch, so that a moment
 * always sounds the same.
 */
export class Sound {
  readonly sampleRate: number;
  readonly channels: number;
  /** AudioSpecificConfig (ISO/IEC 14496-3, section 1.6.2.1). */
  readonly config: Buffer;
  readonly #frames: readonly Buffer[];

  /** A stream of ADTS frames (ISO/IEC 13818-7, section 6.2). */
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

  /** The frame with this number since the epoch; every whole number has one. */
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
