import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** Pictures per second of the fixture; a key frame comes every second (scripts/make-fixture.sh). */
export const FRAMES_PER_SECOND = 5;

/** Epoch second that the first picture of the fixture shows: 2025-10-09 08:53:20 UTC. */
const CLOCK_START = 1_760_000_000;

const START_CODE = Buffer.from([0, 0, 1]);
const NAL_SLICE = 1;
const NAL_KEY_SLICE = 5;
const NAL_SPS = 7;
const NAL_PPS = 8;

/** One picture: its NAL units without start codes, parameter sets first where the recording has them. */
export interface AccessUnit {
  readonly nals: readonly Buffer[];
  readonly key: boolean;
}

/**
 * The recording, cut into pictures. It loops without end: a picture is named by its number since the epoch
 * (epoch second times FRAMES_PER_SECOND, plus 0..4), so a moment always has the same picture and the bit bar
 * shows (epoch second - 1760000000) mod 60.
 */
export class Fixture {
  readonly sps: Buffer;
  readonly pps: Buffer;
  readonly #pictures: readonly AccessUnit[];

  constructor(stream: Buffer) {
    const nals = splitNals(stream);
    this.sps = firstOfType(nals, NAL_SPS);
    this.pps = firstOfType(nals, NAL_PPS);
    this.#pictures = groupPictures(nals);
    checkKeyFrames(this.#pictures);
  }

  /** Reads the recording that comes with the package. */
  static async load(): Promise<Fixture> {
    return new Fixture(await readFile(path.join(__dirname, '..', '..', 'fixture', 'fixture.h264')));
  }

  /** The picture with this number since the epoch; every number has one. */
  picture(number: number): AccessUnit {
    const count = this.#pictures.length;
    const index = (((number - CLOCK_START * FRAMES_PER_SECOND) % count) + count) % count;
    const picture = this.#pictures[index];
    if (picture === undefined) throw new RangeError(`No picture ${number}: not a whole number.`);
    return picture;
  }
}

/** Type of a NAL unit (H.264, section 7.4.1): 5 is a slice of a key frame, 7 an SPS, 8 a PPS. */
export function nalType(nal: Buffer): number {
  return (nal[0] ?? 0) & 0x1f;
}

function splitNals(stream: Buffer): Buffer[] {
  const starts: number[] = [];
  for (let at = stream.indexOf(START_CODE); at >= 0; at = stream.indexOf(START_CODE, at + 3))
    starts.push(at + 3);
  return starts.map((start, i) => {
    const next = starts[i + 1];
    return withoutTrailingZeros(stream.subarray(start, next === undefined ? stream.length : next - 3));
  });
}

// A NAL unit never ends in a zero byte: such bytes belong to the next start code.
function withoutTrailingZeros(nal: Buffer): Buffer {
  let end = nal.length;
  while (end > 0 && nal[end - 1] === 0) end--;
  return nal.subarray(0, end);
}

function firstOfType(nals: readonly Buffer[], type: number): Buffer {
  const nal = nals.find((candidate) => nalType(candidate) === type);
  if (nal === undefined) throw new Error(`The fixture has no NAL unit of type ${type}: make it again.`);
  return nal;
}

function groupPictures(nals: readonly Buffer[]): AccessUnit[] {
  const pictures: AccessUnit[] = [];
  let waiting: Buffer[] = [];
  for (const nal of nals) {
    waiting.push(nal);
    const type = nalType(nal);
    if (type !== NAL_SLICE && type !== NAL_KEY_SLICE) continue;
    pictures.push({ nals: waiting, key: type === NAL_KEY_SLICE });
    waiting = [];
  }
  return pictures;
}

function checkKeyFrames(pictures: readonly AccessUnit[]): void {
  const whole = pictures.length > 0 && pictures.length % FRAMES_PER_SECOND === 0;
  if (whole && pictures.every((picture, i) => picture.key === (i % FRAMES_PER_SECOND === 0))) return;
  throw new Error('The fixture needs exactly one key frame a second: make it again.');
}
