import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { atMacroblock, firstMacroblock } from '../../../sandbox/scene/bits';
import { Pack } from '../../../sandbox/scene/packs';
import { PATIENCE } from '../time/patience';

const WIDTH = 320;
const HEIGHT = 180;
/** The size at which {@link readBar} knows the places of the bits; the pictures themselves are larger. */
export const SCALED = `scale=${WIDTH}:${HEIGHT}:flags=area`;

const run = promisify(execFile);

interface DecodeOptions {
  transport?: 'tcp' | 'udp';
  /** Seconds from the start of the recording (`-ss`). */
  seek?: number;
}

/** Decodes the first picture of an RTSP URL with ffmpeg and reads the second 0..59 from its bit bar. */
export async function burntInSecond(url: string, options: DecodeOptions = {}): Promise<number> {
  const transport = options.transport === undefined ? [] : ['-rtsp_transport', options.transport];
  const seek = options.seek === undefined ? [] : ['-ss', `${options.seek}`];
  const output = ['-frames:v', '1', '-vf', SCALED, '-f', 'rawvideo', '-pix_fmt', 'gray', 'pipe:1'];
  const input = ['-nostdin', '-v', 'error', '-fpsprobesize', '0', ...transport, ...seek, '-i', url];
  const { stdout } = await run('ffmpeg', [...input, ...output], {
    encoding: 'buffer',
    maxBuffer: 4 * WIDTH * HEIGHT,
    timeout: PATIENCE,
    killSignal: 'SIGKILL',
  });
  return readBar(stdout);
}

/** The second in the bit bar of a grey picture that was scaled to 320x180. */
export function readBar(grey: Buffer): number {
  if (grey.length < WIDTH * HEIGHT) throw new Error(`A picture of ${grey.length} bytes is not whole.`);
  return [0, 1, 2, 3, 4, 5, 6].reduce((second, i) => second + (bit(grey, i) ? 2 ** i : 0), 0);
}

function bit(grey: Buffer, i: number): boolean {
  return (grey[19 * WIDTH + 10 + i * 24 + 11] ?? 0) > 128;
}

const FOLDER = path.join(__dirname, '..', '..', '..', 'sandbox', 'fixture');
/** The first macroblock of the middle row of the bar, and how far its squares stand from each other. */
const BAR = { first: 81, step: 3 } as const;
const KEY_SLICE = 5;

/** One of each profile: those of the same profile have the same squares. */
const packs = ['gate', 'car-park'].map((name) => new Pack(readFileSync(path.join(FOLDER, `${name}.pack`))));

/**
 * The second 0..59 that the bar of a received key frame shows (H.264), told by its bytes and without a decoder. -1 where the bytes
 * are not those of the sandbox.
 */
export function fixtureSecond(nals: readonly Buffer[]): number {
  const slices = nals.filter((nal) => ((nal[0] ?? 0) & 0x1f) === KEY_SLICE);
  const bits = [0, 1, 2, 3, 4, 5, 6].map((bit) => {
    const square = slices.find((nal) => firstMacroblock(nal) === BAR.first + BAR.step * bit);
    return square === undefined ? -1 : bitOf(atMacroblock(square, 0));
  });
  return bits.includes(-1) ? -1 : bits.reduce((second, bit, i) => second + bit * 2 ** i, 0);
}

function bitOf(square: Buffer): number {
  for (const pack of packs) {
    const { on = [], off = [] } = pack.index.overlay ?? {};
    const isPart = (rows: number[]): boolean => atMacroblock(pack.part(rows[1] ?? -1), 0).equals(square);
    if (isPart(on)) return 1;
    if (isPart(off)) return 0;
  }
  return -1;
}

/** The second that the recording shows at a moment (epoch milliseconds). */
export function expectedSecond(moment: number): number {
  return (((Math.floor(moment / 1000) - 1_760_000_000) % 60) + 60) % 60;
}

const GATE = path.join(__dirname, '..', '..', '..', 'sandbox', 'fixture', 'gate.stills');
/** From the size of the picture on heads differ: what is before it are the tables by which it was made. */
const SIZE_MARKER = Buffer.from([0xff, 0xc0]);

/** True for a whole JPEG that was put together from the recorded cells of the sandbox. */
export function isFixtureStill(jpeg: Buffer): boolean {
  const recorded = readFileSync(GATE);
  const head = jpeg.subarray(0, jpeg.indexOf(SIZE_MARKER));
  return head.length > 100 && recorded.includes(head) && jpeg.subarray(-2).toString('hex') === 'ffd9';
}
