import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { VideoFrame } from '../../../lib/video/media';
import { readBar } from '../rtsp/fixture';
import { temporaryFolder } from '../suite/temporary-folder';
import { PATIENCE } from '../time/patience';
import { framesIn, pictures } from './encoded-stream';

const run = promisify(execFile);
const LIMIT = { timeout: PATIENCE, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 } as const;
/** As the fixture's, to be read by the same means. */
const [WIDTH, HEIGHT] = [320, 180];

export const FRAMES_PER_SECOND = 5;

export interface Encoding {
  /** Pictures. */
  count: number;
  /** Options of ffmpeg from the encoder on, such as `-c:v libx264 -bf 0`. */
  encoder: string;
  /** Times the size of the fixture; 1 unless said. */
  scale?: number;
  /** Width of a pixel by its height, such as `12/11`; 1 unless said. */
  pixel?: string;
}

/** Makes video whose pictures show their own number in the bit bar, as a relay would send it: in the order of decoding. */
export async function encodedVideo(encoding: Encoding): Promise<VideoFrame[]> {
  const file = path.join(temporaryFolder('encoded-video'), 'video.mp4');
  await run('ffmpeg', [...source(encoding), ...encoding.encoder.split(' '), file], LIMIT);
  return pictures(framesIn(file).frames);
}

/**
 * The number that a JPEG of such a picture shows.
 * @param cell where the picture stands among others, in its first size; all of the JPEG unless said
 */
export async function numberIn(jpeg: Buffer, cell?: { x: number; y: number }): Promise<number> {
  const part = cell === undefined ? '' : `crop=${WIDTH}:${HEIGHT}:${cell.x}:${cell.y},`;
  const grey = ['-vf', `${part}scale=${WIDTH}:${HEIGHT}`, '-f', 'rawvideo', '-pix_fmt', 'gray', 'pipe:1'];
  const running = run('ffmpeg', ['-v', 'error', '-f', 'mjpeg', '-i', 'pipe:0', ...grey], {
    ...LIMIT,
    encoding: 'buffer',
  });
  running.child.stdin?.end(jpeg);
  return readBar((await running).stdout);
}

function source({ count, scale = 1, pixel = '1' }: Encoding): string[] {
  const boxes = [0, 1, 2, 3, 4, 5, 6].flatMap((bit) => {
    const x = 10 + bit * 24;
    return [
      `drawbox=x=${x}:y=8:w=22:h=22:color=black:t=fill`,
      `drawbox=x=${x + 1}:y=9:w=20:h=20:color=white:t=fill:enable='eq(mod(floor(n/${2 ** bit}),2),1)'`,
    ];
  });
  const filters = [
    'drawbox=y=0:h=40:color=0x203040:t=fill',
    ...boxes,
    `scale=${WIDTH * scale}:${HEIGHT * scale}`,
    `setsar=${pixel}`,
    'format=yuv420p',
  ];
  const input = `testsrc2=size=${WIDTH}x${HEIGHT}:rate=${FRAMES_PER_SECOND}`;
  return ['-v', 'error', '-f', 'lavfi', '-i', input, '-frames:v', `${count}`, '-vf', filters.join(',')];
}
