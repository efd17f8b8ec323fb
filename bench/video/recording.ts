import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface RecordingOptions {
  seconds: number;
  /** Bits in a second of all pictures together. */
  bitsPerSecond: number;
}

/** Pictures in a second, and from one key frame to the next: what cameras are set to. */
export const RATE = 15;

/** What a camera has recorded: H.264, 1280x720, a key frame every second, with start codes. To be removed by the caller. */
export function makeRecording({ seconds, bitsPerSecond }: RecordingOptions): string {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-bench-')), 'recording.h264');
  const source = `testsrc2=size=1280x720:rate=${RATE},noise=alls=12:allf=t`;
  const bits = String(bitsPerSecond);
  const rate = ['-b:v', bits, '-maxrate', bits, '-bufsize', bits];
  const keys = ['-g', String(RATE), '-keyint_min', String(RATE), '-sc_threshold', '0'];
  const encoder = ['-c:v', 'libx264', '-preset', 'ultrafast', '-profile:v', 'main', '-pix_fmt', 'yuv420p'];
  // One slice is one picture.
  const pictures = ['-bf', '0', '-x264-params', 'slices=1:sliced-threads=0'];
  const input = ['-v', 'error', '-f', 'lavfi', '-i', source, '-t', String(seconds)];
  const output = [...encoder, ...rate, ...keys, ...pictures, '-f', 'h264', file];
  const { status, stderr } = spawnSync('ffmpeg', [...input, ...output]);
  if (status === 0) return file;
  removeRecording(file);
  throw new Error(`ffmpeg has made no recording: ${String(stderr)}`);
}

export function removeRecording(file: string): void {
  fs.rmSync(path.dirname(file), { recursive: true, force: true });
}
