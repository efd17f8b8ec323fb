import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ScreenFrame } from './screencast';

const FRAMES_PER_SECOND = 8;
/** From 0 to 100. At this value text is sharp and edges are clean. */
const QUALITY = 60;

/** Makes an endless WebP animation of frames; `folder` takes temporary files and must exist. */
export async function animate(frames: readonly ScreenFrame[], folder: string): Promise<Buffer> {
  const list = path.join(folder, 'frames.txt');
  const file = path.join(folder, 'animation.webp');
  fs.writeFileSync(list, listOf(frames));
  const input = ['-f', 'concat', '-safe', '0', '-i', list, '-vf', `fps=${FRAMES_PER_SECOND}`];
  const output = ['-c:v', 'libwebp_anim', '-quality', `${QUALITY}`, '-compression_level', '6', '-loop', '0'];
  await promisify(execFile)('ffmpeg', ['-v', 'error', '-y', ...input, ...output, file]);
  return fs.readFileSync(file);
}

/** The input of ffmpeg's concat demuxer: each file and its duration. */
function listOf(frames: readonly ScreenFrame[]): string {
  const lines = frames.map(({ file, time }, index) => {
    const until = frames[index + 1]?.time ?? time;
    return `file '${file}'\nduration ${Math.max(0, until - time).toFixed(3)}\n`;
  });
  return lines.join('');
}
