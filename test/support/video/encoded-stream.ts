import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import type { AudioFormat, AudioFrame, MediaFrame, VideoFormat, VideoFrame } from '../../../lib/video/media';
import { boxIn } from '../rtp/foreign-streams';
import { programPath } from '../suite/programs';

export interface EncodedVideo {
  video: VideoFormat;
  audio: AudioFormat | undefined;
  /** In the order of decoding. */
  frames: MediaFrame[];
  /** Of each picture that is shown, in order, a hash of what ffmpeg decodes. */
  decoded: string[];
}

export interface Wanted {
  /** An encoder of ffmpeg with its options. */
  encoder: readonly string[];
  /** Names an encoder of ffmpeg for sound; none unless said. */
  sound?: readonly string[];
  seconds?: number;
  rate?: number;
  size?: string;
}

export const BASELINE = ['libx264', '-profile:v', 'baseline', '-g', '20'];
export const B_FRAMES = ['libx264', '-profile:v', 'main', '-g', '20', '-bf', '3', '-b_strategy', '0'];
export const H265 = ['libx265', '-x265-params', 'log-level=none:keyint=20:bframes=3:b-adapt=0'];
export const AAC = ['aac', '-ar', '32000'];

const KINDS = {
  'H.264 without B-frames': { encoder: BASELINE },
  'H.264 without B-frames, larger': { encoder: BASELINE, size: '640x360' },
  'H.264 with B-frames': { encoder: B_FRAMES },
  'H.264 with B-frames and AAC': { encoder: B_FRAMES, sound: AAC },
  'H.265': { encoder: H265 },
} as const satisfies Record<string, Wanted>;
export type EncodedKind = keyof typeof KINDS;
const made = new Map<EncodedKind, EncodedVideo>();

/** Four seconds of a kind, made once for all test files of a process. */
export function encodedKind(kind: EncodedKind): EncodedVideo {
  const video = made.get(kind) ?? encodedVideo(KINDS[kind]);
  made.set(kind, video);
  return video;
}

interface Stream {
  codec_type: 'video' | 'audio';
  codec_name: string;
  width: number;
  height: number;
}

interface Packet {
  codec_type: 'video' | 'audio';
  pts_time: string;
  dts_time: string;
  size: string;
  pos: string;
  flags: string;
}

/** Runs a program of ffmpeg's and gives what it says; fails where it fails. */
export function run(program: 'ffmpeg' | 'ffprobe', args: readonly string[], input?: Buffer): string {
  const { status, stdout, stderr } = spawnSync(programPath(program) ?? program, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...(input !== undefined && { input }),
  });
  assert.equal(status, 0, stderr);
  return `${stdout}${stderr}`;
}

/** A test picture that moves, encoded by ffmpeg and cut into frames with their times. */
export function encodedVideo(wanted: Wanted): EncodedVideo {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-encoded-'));
  try {
    const file = path.join(folder, 'encoded.mp4');
    run('ffmpeg', [...encoding(wanted), '-y', file]);
    return { ...framesIn(file), decoded: pictureHashes(file) };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Of each picture that is shown, in order, a hash of what ffmpeg decodes of a file. */
export function pictureHashes(file: string): string[] {
  const way = ['-map', '0:v', '-fps_mode', 'passthrough', '-f', 'framemd5', '-'];
  const text = run('ffmpeg', ['-v', 'error', '-i', file, ...way]);
  return text.split('\n').flatMap((line) => /, ([0-9a-f]{32})$/.exec(line)?.[1] ?? []);
}

/** The same with other times. */
export function retimed(frames: readonly MediaFrame[], change: (time: number) => number): MediaFrame[] {
  return frames.map((frame) => ({ ...frame, time: change(frame.time) }));
}

export function pictures(frames: readonly MediaFrame[]): VideoFrame[] {
  return frames.filter((frame) => frame.kind === 'video');
}

/** Of the pictures, in another format. */
export function withFormat(
  frames: readonly MediaFrame[],
  change: (format: VideoFormat) => Partial<VideoFormat>,
): VideoFrame[] {
  return pictures(frames).map((frame) => ({
    ...frame,
    format: { ...frame.format, ...change(frame.format) },
  }));
}

/** A key frame, and behind it pictures and sound of whatever times. */
export function framesOfAStranger(
  video: EncodedVideo,
  sounded: EncodedVideo,
  maxLength: number,
): fc.Arbitrary<MediaFrame[]> {
  const [key = assert.fail(), other = assert.fail()] = pictures(video.frames);
  const [sound = assert.fail()] = soundsFrom(sounded.frames, 0);
  const time = fc.oneof(fc.double(), fc.double({ min: -30, max: 30 }), fc.constant(1e300));
  const frame = fc.record({ frame: fc.constantFrom(key, other, sound, sound), time });
  const sent = fc.array(frame, { maxLength });
  return sent.map((frames) => [key, ...frames.map(({ frame, time }): MediaFrame => ({ ...frame, time }))]);
}

/** @param begin seconds: sound before it is left out */
export function soundsFrom(frames: readonly MediaFrame[], begin: number): AudioFrame[] {
  return frames.filter((frame) => frame.kind === 'audio').filter(({ time }) => time >= begin);
}

/** When pictures are shown, in order, from the first on, in milliseconds. */
export function shownPictures(frames: readonly MediaFrame[]): number[] {
  const times = pictures(frames).map(({ time }) => time);
  const [first = 0, ...rest] = times.sort((a, b) => a - b);
  return [0, ...rest.map((time) => Math.round((time - first) * 1000))];
}

function encoding(wanted: Wanted): string[] {
  const { encoder, sound, seconds = 4, rate = 10, size = '320x180' } = wanted;
  const picture = ['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=${rate}`];
  const tone = sound === undefined ? [] : ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=32000'];
  const sounded = sound === undefined ? [] : ['-c:a', ...sound];
  const coding = ['-pix_fmt', 'yuv420p', '-c:v', ...encoder, ...sounded];
  const tag = encoder[0] === 'libx265' ? 'hvc1' : 'avc1';
  return ['-v', 'error', ...picture, ...tone, '-t', String(seconds), ...coding, '-tag:v', tag];
}

/** The frames of an MP4 with one track of pictures, and perhaps one of sound. */
export function framesIn(file: string): Omit<EncodedVideo, 'decoded'> {
  const bytes = fs.readFileSync(file);
  const shown = run('ffprobe', ['-v', 'error', '-show_streams', '-show_packets', '-of', 'json', file]);
  const { packets, streams } = JSON.parse(shown) as { packets: Packet[]; streams: Stream[] };
  const stream = streams.find(({ codec_type }) => codec_type === 'video') ?? assert.fail();
  const video = videoFormatOf(stream, bytes);
  const audio = audioFormatIn(bytes);
  const sorted = packets.sort((a, b) => Number(a.dts_time) - Number(b.dts_time));
  const frames = sorted.map((packet): MediaFrame => {
    const at = Number(packet.pos);
    const data = bytes.subarray(at, at + Number(packet.size));
    const time = Number(packet.pts_time);
    if (packet.codec_type === 'video')
      return { kind: 'video', format: video, key: packet.flags.startsWith('K'), nals: nalsOf(data), time };
    return { kind: 'audio', format: audio ?? assert.fail(), data, time };
  });
  return { video, audio, frames };
}

function nalsOf(sample: Buffer): Buffer[] {
  const nals: Buffer[] = [];
  for (let at = 0; at < sample.length;) {
    const length = sample.readUInt32BE(at);
    nals.push(sample.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return nals;
}

function videoFormatOf({ codec_name, width, height }: Stream, bytes: Buffer): VideoFormat {
  if (codec_name === 'hevc') {
    const description = boxIn(bytes, 'hvcC');
    const codecString = `hvc1.1.6.L${description.readUInt8(12)}.90`;
    return { codec: 'h265', parameterSets: hevcSets(description), width, height, codecString, description };
  }
  const description = boxIn(bytes, 'avcC');
  const codecString = `avc1.${description.toString('hex', 1, 4).toUpperCase()}`;
  return { codec: 'h264', parameterSets: avcSets(description), width, height, codecString, description };
}

/** ISO/IEC 14496-15, section 5.3.3.1. */
function avcSets(record: Buffer): Buffer[] {
  const sets: Buffer[] = [];
  let at = 5;
  for (const mask of [0x1f, 0xff]) at = takeSets(record, at + 1, record.readUInt8(at) & mask, sets);
  return sets;
}

/** ISO/IEC 14496-15, section 8.3.3.1. */
function hevcSets(record: Buffer): Buffer[] {
  const sets: Buffer[] = [];
  let at = 23;
  for (let arrays = record.readUInt8(22); arrays > 0; arrays -= 1) {
    const isSet = [32, 33, 34].includes(record.readUInt8(at) & 0x3f);
    at = takeSets(record, at + 3, record.readUInt16BE(at + 1), isSet ? sets : []);
  }
  return sets;
}

/** @returns the place behind them */
function takeSets(record: Buffer, from: number, count: number, sets: Buffer[]): number {
  let at = from;
  for (let taken = 0; taken < count; taken += 1) {
    const end = at + 2 + record.readUInt16BE(at);
    sets.push(record.subarray(at + 2, end));
    at = end;
  }
  return at;
}

function audioFormatIn(bytes: Buffer): AudioFormat | undefined {
  if (!bytes.includes('esds')) return undefined;
  const esds = boxIn(bytes, 'esds');
  // DecoderSpecificInfo (ISO/IEC 14496-1, section 7.2.6.7), whose length ffmpeg writes with four bytes.
  const at = esds.indexOf(Buffer.from([5, 0x80, 0x80, 0x80]));
  const description = Buffer.from(esds.subarray(at + 5, at + 5 + esds.readUInt8(at + 4)));
  return { codec: 'aac', description, sampleRate: 32_000, channels: 1, codecString: 'mp4a.40.2' };
}
