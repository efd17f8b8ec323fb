import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import type { AudioFormat, MediaFrame } from '../../../lib/video/media';
import { ClipMemory } from '../../../lib/video/mp4/clip-destination';
import { ClipWriter } from '../../../lib/video/mp4/clip-writer';
import { FragmentWriter } from '../../../lib/video/mp4/fragment-writer';
import type { TestBrowser } from '../editor/browser';
import { OddServer } from '../network/servers';
import { PATIENCE } from '../time/patience';
import { pictureHashes, run } from './encoded-stream';

interface ProbedTrack {
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

interface ProbedClip {
  streams: ProbedTrack[];
  format: { duration: string };
  packets: { codec_type: 'video' | 'audio'; pts_time: string; dts_time: string }[];
}

/** What a writer of clips says of these frames, and what it has written. */
export async function writtenClip(frames: readonly MediaFrame[], memory = new ClipMemory()) {
  const writer = new ClipWriter(memory);
  for (const frame of frames) if (!(await writer.add(frame))) break;
  const facts = await writer.finish();
  return { facts, clip: memory.content, ended: writer.ended, hasSound: writer.hasSound };
}

/** A fragmented MP4 of these frames, and its media type. */
export function writtenFragments(frames: readonly MediaFrame[], audio?: AudioFormat, seconds?: number) {
  const writer = new FragmentWriter(audio, seconds);
  const pieces = [...frames.flatMap((frame) => writer.add(frame)), ...writer.end()];
  return { type: writer.mimeType, pieces, mp4: Buffer.concat(pieces) };
}

/** What ffprobe tells of an MP4. */
export function probed(clip: Buffer): ProbedClip {
  return inFile(clip, (file) => {
    const shown = ['-show_streams', '-count_packets', '-show_format', '-show_packets'];
    return JSON.parse(run('ffprobe', ['-v', 'warning', ...shown, '-of', 'json', file])) as ProbedClip;
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

/** What a video element of the page came to. */
export interface Played {
  width: number;
  /** Where it is, in seconds, at its end. */
  time: number;
  /** Parts that it has, in seconds. */
  buffered: [begin: number, end: number][];
  /** What it complains about; empty where all is well. */
  error: string;
  /** Bytes of sound that were decoded. */
  soundBytes: number;
}

const PLAY = `
const video = document.querySelector('video');
video.defaultPlaybackRate = 4;
const told = () => ({
  width: video.videoWidth,
  time: video.currentTime,
  buffered: Array.from({ length: video.buffered.length }, (_, i) => [video.buffered.start(i), video.buffered.end(i)]),
  error: video.error?.message ?? '',
  soundBytes: video.webkitAudioDecodedByteCount,
});
const ended = new Promise((resolve) => {
  for (const name of ['ended', 'error']) video.addEventListener(name, () => resolve(told()));
});
window.playFile = () => { video.src = 'clip'; void video.play(); return ended; };
window.playPieces = async (type, count) => {
  const source = new MediaSource();
  video.src = URL.createObjectURL(source);
  await new Promise((resolve) => source.addEventListener('sourceopen', resolve));
  const buffer = source.addSourceBuffer(type);
  for (let piece = 0; piece < count; piece += 1) {
    buffer.appendBuffer(await (await fetch('piece/' + piece)).arrayBuffer());
    await new Promise((resolve) => buffer.addEventListener('updateend', resolve, { once: true }));
  }
  source.endOfStream();
  video.currentTime = video.buffered.start(0);
  void video.play();
  return ended;
};`;

/** Plays a clip as a video element does that has its address. */
export function playFile(browser: TestBrowser, clip: Buffer): Promise<Played> {
  return play(browser, [clip], 'playFile()');
}

/** Plays pieces by Media Source Extensions, each given once the one before is taken. */
export function playPieces(browser: TestBrowser, type: string, pieces: readonly Buffer[]): Promise<Played> {
  return play(browser, pieces, `playPieces(${JSON.stringify(type)}, ${pieces.length})`);
}

async function play(browser: TestBrowser, pieces: readonly Buffer[], call: string): Promise<Played> {
  const server = await OddServer.start(http.createServer((req, res) => answer(req, res, pieces)));
  const page = await browser.newPage();
  try {
    page.setDefaultTimeout(PATIENCE);
    await page.goto(server.url);
    return (await page.evaluate(call)) as Played;
  } finally {
    await page.close();
    await server.close();
  }
}

function answer(req: http.IncomingMessage, res: http.ServerResponse, pieces: readonly Buffer[]): void {
  if (req.url === '/') {
    res.setHeader('Content-Type', 'text/html');
    res.end(`<!doctype html><video muted></video><script>${PLAY}</script>`);
    return;
  }
  const piece = pieces[Number(/^\/piece\/(\d+)$/.exec(req.url ?? '')?.[1] ?? 0)];
  res.setHeader('Content-Type', 'video/mp4');
  res.end(piece);
}

/** Width and height as a JPEG's frame header says them. */
export function sizeOf(jpeg: Buffer): { width: number; height: number } {
  for (let at = 2; at < jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) {
    const marker = jpeg.readUInt16BE(at);
    if (marker >= 0xffc0 && marker <= 0xffc2) {
      return { width: jpeg.readUInt16BE(at + 7), height: jpeg.readUInt16BE(at + 5) };
    }
  }
  return assert.fail('no frame header');
}
