import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import type { AudioFrame, MediaFrame, VideoFrame, MediaDescription } from '../../../lib/video/media';
import { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { ended, type PushedStream } from './pushed-stream';

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
