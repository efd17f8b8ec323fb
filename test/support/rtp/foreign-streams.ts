import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import type net from 'node:net';
import path from 'node:path';
import type { AudioFrame, MediaDescription, MediaFrame, VideoFrame } from '../../../lib/video/media';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { OddServer } from '../network/servers';
import { temporaryFolder } from '../suite/temporary-folder';

/** @returns the path of a file in a folder for the tests of the group */
export function filesOfGroup(): (name: string) => string {
  const folder = temporaryFolder();
  return (name) => path.join(folder, name);
}

/** The NAL units of a byte stream (ITU-T H.264, annex B). */
export function unitsIn(bytes: Buffer): Buffer[] {
  const starts: number[] = [];
  const code = Buffer.from([0, 0, 1]);
  for (let at = bytes.indexOf(code); at >= 0; at = bytes.indexOf(code, at + 3)) starts.push(at + 3);
  const ends = [...starts.slice(1).map((start) => start - 3), bytes.length];
  return starts.map((start, index) => withoutZeros(bytes.subarray(start, ends[index])));
}

/** Units with a start code before each. */
export function byteStream(units: readonly Buffer[]): Buffer {
  return Buffer.concat(units.flatMap((unit) => [Buffer.from([0, 0, 0, 1]), unit]));
}

/** Slices alone decode to pictures: not sets, delimiters and information. */
export const isSlice = {
  h264: (nal: Buffer): boolean => [1, 5].includes((nal[0] ?? 0) & 0x1f),
  hevc: (nal: Buffer): boolean => (nal[0] ?? 0) >> 1 < 32,
};
/** As ffmpeg names elementary streams. */
export type RawCodec = keyof typeof isSlice;

/** Those at the end belong to the next start code. */
function withoutZeros(unit: Buffer): Buffer {
  const last = unit.findLastIndex((byte) => byte !== 0);
  return unit.subarray(0, last + 1);
}

/** The access units of a file with an ADTS head before each (ISO/IEC 13818-7, section 6.2). */
export function accessUnitsOf(file: string): Buffer[] {
  const bytes = fs.readFileSync(file);
  const units: Buffer[] = [];
  for (let at = 0; at + 7 <= bytes.length;) {
    const length = (bytes.readUInt32BE(at + 3) >>> 13) & 0x1fff;
    units.push(bytes.subarray(at + 7, at + length));
    at += length;
  }
  return units;
}

/** What stands in the first box of an MP4 with this name. */
export function boxIn(bytes: Buffer, name: string): Buffer {
  const at = bytes.indexOf(name, 0, 'latin1');
  assert.ok(at > 0, `no ${name}`);
  return bytes.subarray(at + 4, at - 4 + bytes.readUInt32BE(at - 4));
}

/** What elements of GStreamer make, by a file with each packet behind its length of 16 bits (RFC 4571). */
export async function gstPackets(elements: string, file: string): Promise<Buffer[]> {
  const pipeline = `${elements} ! rtpstreampay ! filesink location=${file}`;
  await ended('gst-launch-1.0', ['-q', ...pipeline.split(' ')]);
  const bytes = fs.readFileSync(file);
  const packets: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 2 + bytes.readUInt16BE(at))
    packets.push(bytes.subarray(at + 2, at + 2 + bytes.readUInt16BE(at)));
  return packets;
}

/** Fails with the places where units differ, not with their bytes. */
export function assertSame(units: readonly Buffer[], expected: readonly Buffer[]): void {
  assert.deepEqual(units.map(textOf), expected.map(textOf));
}

function textOf(unit: Buffer): string {
  return `${unit.length} ${createHash('sha1').update(unit).digest('base64')}`;
}

export function receiverOf(media: MediaDescription | undefined): TrackReceiver {
  assert.ok(media !== undefined);
  return new TrackReceiver(media);
}

/** Frames of one track, RTP and RTCP on two channels. */
export function received(receiver: TrackReceiver, { packets }: PushedStream, channel = 0): MediaFrame[] {
  const frames = packets.flatMap((packet) => {
    if (packet.channel === channel) return receiver.rtp(packet.bytes);
    if (packet.channel === channel + 1) receiver.rtcp(packet.bytes);
    return [];
  });
  return [...frames, ...receiver.flush()];
}

export function isVideo(frame: MediaFrame): frame is VideoFrame {
  return frame.kind === 'video';
}

export function isAudio(frame: MediaFrame): frame is AudioFrame {
  return frame.kind === 'audio';
}

export function probed(file: string): Record<string, unknown> {
  const fields = 'stream=width,height,sample_rate,channels';
  const text = execFileSync('ffprobe', ['-v', 'error', '-show_entries', fields, '-of', 'json', file], {
    encoding: 'utf8',
  });
  const { streams }: { streams?: Record<string, unknown>[] } = JSON.parse(text);
  return streams?.[0] ?? {};
}

/** What a sender described and sent over its connection. */
interface PushedStream {
  sdp: string;
  /** In their order; channel 0 = RTP of the first track, 1 = its RTCP, 2 and 3 those of the second. */
  packets: { channel: number; bytes: Buffer }[];
}

const DOLLAR = 0x24;

/**
 * All that ffmpeg sends of an input, by RTSP (ANNOUNCE and RECORD) over TCP: an independent packetiser that loses nothing.
 * @throws Error with what ffmpeg said, where it fails
 */
export async function pushedStream(input: readonly string[]): Promise<PushedStream> {
  const stream: PushedStream = { sdp: '', packets: [] };
  const server = await OddServer.raw((socket) => take(socket, stream));
  try {
    const output = ['-f', 'rtsp', '-rtsp_transport', 'tcp', `rtsp://127.0.0.1:${server.port}/a`];
    await ended('ffmpeg', ['-v', 'error', '-nostdin', ...input, ...output]);
    return stream;
  } finally {
    await server.close();
  }
}

/** Answers each request with yes, and keeps what stands between them. */
function take(socket: net.Socket, stream: PushedStream): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (piece: Buffer) => {
    rest = Buffer.concat([rest, piece]);
    for (let end = endOfFirst(rest); end !== undefined; end = endOfFirst(rest)) {
      const first = rest.subarray(0, end);
      if (first[0] === DOLLAR) stream.packets.push({ channel: first.readUInt8(1), bytes: first.subarray(4) });
      else socket.write(answerTo(first.toString('latin1'), stream));
      rest = rest.subarray(end);
    }
  });
}

/** Undefined until it is whole. */
function endOfFirst(bytes: Buffer): number | undefined {
  const end = bytes[0] === DOLLAR ? endOfPacket(bytes) : endOfRequest(bytes);
  return end !== undefined && end <= bytes.length ? end : undefined;
}

function endOfPacket(bytes: Buffer): number | undefined {
  return bytes.length < 4 ? undefined : 4 + bytes.readUInt16BE(2);
}

function endOfRequest(bytes: Buffer): number | undefined {
  const head = bytes.indexOf('\r\n\r\n');
  const length = /^content-length: *(\d+)/im.exec(bytes.toString('latin1', 0, Math.max(head, 0)))?.[1] ?? '0';
  return head < 0 ? undefined : head + 4 + Number(length);
}

function answerTo(request: string, stream: PushedStream): string {
  const [head = '', body = ''] = request.split('\r\n\r\n');
  if (head.startsWith('ANNOUNCE')) stream.sdp = body;
  const kept = head.split('\r\n').filter((line) => /^(?:cseq|transport):/i.test(line));
  return ['RTSP/1.0 200 OK', ...kept, 'Session: 1', '', ''].join('\r\n');
}

/** @throws Error with what the program said, where it fails */
export async function ended(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`${program}: ${said}`);
}
