import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pictureHashes, run } from './encoded-stream';

export interface ProbedTrack {
  codec_name: string;
  codec_type: 'video' | 'audio';
  codec_tag_string: string;
  width?: number;
  height?: number;
  sample_aspect_ratio?: string;
  display_aspect_ratio?: string;
  start_time: string;
  duration: string;
  /** As the index says; `nb_read_packets` as they were found. */
  nb_frames: string;
  nb_read_packets: string;
}

export interface ProbedClip {
  streams: ProbedTrack[];
  format: { duration: string };
  packets: {
    codec_type: 'video' | 'audio';
    pts_time: string;
    dts_time: string;
  }[];
}

/** What ffprobe tells of an MP4. */
export function probed(clip: Buffer): ProbedClip {
  return inFile(clip, (file) => {
    const text = run('ffprobe', [
      '-v',
      'warning',
      '-show_streams',
      '-count_packets',
      '-show_format',
      '-show_packets',
      '-of',
      'json',
      file,
    ]);
    return JSON.parse(text) as ProbedClip;
  });
}

/** What ffmpeg complains about while it decodes all of an MP4; empty where all is well. */
export function complaints(clip: Buffer): string {
  return inFile(clip, (file) => run('ffmpeg', ['-v', 'warning', '-i', file, '-f', 'null', '-']));
}

/** As a JPEG. */
export function firstPicture(clip: Buffer): Buffer {
  return inFile(clip, (file) => {
    const jpeg = `${file}.jpg`;
    run('ffmpeg', ['-v', 'error', '-i', file, '-frames:v', '1', jpeg]);
    return fs.readFileSync(jpeg);
  });
}

/** Of each picture that is shown, in order, a hash of what ffmpeg decodes. */
export function decoded(clip: Buffer): string[] {
  return inFile(clip, pictureHashes);
}

/** When pictures are shown, in order, from the first on, in milliseconds. */
export function shownTimes(clip: Buffer): number[] {
  const packets = probed(clip).packets.filter(({ codec_type }) => codec_type === 'video');
  const times = packets.map(({ pts_time }) => Math.round(Number(pts_time) * 1000));
  const sorted = times.sort((a, b) => a - b);
  return sorted.map((time) => time - (sorted[0] ?? 0));
}

/** The types of the boxes at the top of an MP4, in order. */
export function topBoxes(clip: Buffer): string[] {
  const types: string[] = [];
  for (let at = 0; at < clip.length; at += clip.readUInt32BE(at))
    types.push(clip.toString('latin1', at + 4, at + 8));
  return types;
}

function inFile<Result>(clip: Buffer, work: (file: string) => Result): Result {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-clip-'));
  try {
    const file = path.join(folder, 'clip.mp4');
    fs.writeFileSync(file, clip);
    return work(file);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
