import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A video as fragmented MP4, one fragment for each picture, and for each piece of sound. */
export interface FragmentedVideo {
  init: Buffer;
  fragments: readonly Buffer[];
  mimeType: string;
  /** Milliseconds from one fragment to the next, on average. */
  interval: number;
}

export interface VideoOptions {
  seconds: number;
  codec?: 'libx264' | 'libx265';
  /** A tone beside it. */
  sound?: boolean;
  /** Pictures in a second. */
  rate?: number;
}

const ENCODER = {
  libx264: ['-preset', 'ultrafast', '-profile:v', 'baseline', '-level', '3.0'],
  libx265: ['-preset', 'ultrafast', '-tag:v', 'hvc1', '-x265-params', 'log-level=1'],
};
const CODECS = { libx264: 'avc1.42C01E', libx265: 'hvc1.1.6.L93.B0' };

/** A test picture with a running clock, made by ffmpeg. */
export function fragmentedVideo({
  seconds,
  codec = 'libx264',
  sound,
  rate = 15,
}: VideoOptions): FragmentedVideo {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-fragments-')), 'video.mp4');
  const tone = sound === true ? ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'] : [];
  const input = ['-f', 'lavfi', '-i', `testsrc2=size=640x360:rate=${rate}`, ...tone, '-t', String(seconds)];
  const pictures = ['-c:v', codec, '-g', String(rate), '-bf', '0', '-pix_fmt', 'yuv420p'];
  const output = ['-c:a', 'aac', '-movflags', 'frag_every_frame+empty_moov+default_base_moof', file];
  const made = spawnSync('ffmpeg', ['-v', 'error', ...input, ...pictures, ...ENCODER[codec], ...output], {
    encoding: 'utf8',
  });
  assert.equal(made.status, 0, made.stderr);
  const boxes = boxesOf(fs.readFileSync(file));
  fs.rmSync(path.dirname(file), { recursive: true });
  const codecs = sound === true ? `${CODECS[codec]}, mp4a.40.2` : CODECS[codec];
  const init = boxes.filter(({ type }) => type === 'ftyp' || type === 'moov').map(({ bytes }) => bytes);
  const fragments = boxes.flatMap(({ type, bytes }, index) =>
    type === 'moof' ? [Buffer.concat([bytes, boxes[index + 1]?.bytes ?? Buffer.alloc(0)])] : [],
  );
  return {
    init: Buffer.concat(init),
    fragments,
    mimeType: `video/mp4; codecs="${codecs}"`,
    interval: (seconds * 1000) / fragments.length,
  };
}

function boxesOf(file: Buffer): { type: string; bytes: Buffer }[] {
  const boxes = [];
  for (let at = 0; at + 8 <= file.length; at += file.readUInt32BE(at)) {
    const size = file.readUInt32BE(at);
    boxes.push({ type: file.toString('latin1', at + 4, at + 8), bytes: file.subarray(at, at + size) });
  }
  return boxes;
}
