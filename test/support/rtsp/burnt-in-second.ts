import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PATIENCE } from '../time/patience';

const WIDTH = 320;
const HEIGHT = 180;
/** The size at which {@link readBar} knows the places of the bits; the pictures themselves are larger. */
export const SCALED = `scale=${WIDTH}:${HEIGHT}:flags=area`;

const run = promisify(execFile);

export interface DecodeOptions {
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
