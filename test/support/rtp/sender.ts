import type { MediaDescription, MediaFrame, VideoFrame } from '../../../lib/video/media';
import type { TrackReceiver } from '../../../lib/video/rtp/track-receiver';
import { FuzzBitWriter } from '../../../scripts/fuzz/inputs/bit-writer';
import { h264Pps, h264Slice, h264Sps, type SliceFields } from '../../../scripts/fuzz/inputs/h264-units';
import { type PacketFields, rtpPacket, SSRC, VIDEO_TYPE } from '../../../scripts/fuzz/inputs/rtp';

/** Ticks in a second of video. */
export const RATE = 90_000;
/** Ticks between pictures. */
export const STEP = 9000;

/** H.264 without parameter sets, unless told otherwise. */
export function medium(
  fields: Partial<Omit<MediaDescription, 'parameters'>> = {},
  parameters: Record<string, string> = {},
): MediaDescription {
  return {
    kind: 'video',
    payloadType: VIDEO_TYPE,
    encoding: 'H264',
    clockRate: RATE,
    channels: 1,
    ...fields,
    parameters: new Map(Object.entries(parameters)),
  };
}

/** Numbers packets and times pictures. */
export class RtpSender {
  constructor(
    public sequence = 100,
    public rtpTime = 5000,
    public ssrc = SSRC,
  ) {}

  /** The packets of a picture, the last of them marked, and the time of the next picture is later. */
  picture(payloads: readonly Buffer[], fields: PacketFields = {}): Buffer[] {
    const last = payloads.length - 1;
    const packets = payloads.map((payload, index) =>
      this.packet(payload, { marker: index === last, ...fields }),
    );
    this.rtpTime += STEP;
    return packets;
  }

  packet(payload: Buffer, fields: PacketFields = {}): Buffer {
    const { rtpTime, ssrc } = this;
    return rtpPacket(payload, { sequence: this.sequence++, rtpTime, ssrc, ...fields });
  }

  /** Parameter sets and an IDR picture of one slice, each in a packet. */
  key(slice: SliceFields = {}): Buffer[] {
    return this.picture([h264Sps(), h264Pps(), h264Slice({ type: 'idr', ...slice })]);
  }

  /** A picture of one slice that needs the one before. */
  delta(slice: SliceFields = {}): Buffer[] {
    return this.picture([h264Slice(slice)]);
  }
}

/** Fields one behind the other, each a value and its length in bits. */
export function bits(...fields: (readonly [value: number, length: number])[]): FuzzBitWriter {
  const writer = new FuzzBitWriter();
  for (const field of fields) writer.bits(...field);
  return writer;
}

/** All frames that come of the packets, without the end of the stream. */
export function framesOf(receiver: TrackReceiver, packets: readonly Buffer[]): MediaFrame[] {
  return packets.flatMap((packet) => receiver.rtp(packet));
}

export function videoOf(receiver: TrackReceiver, packets: readonly Buffer[]): VideoFrame[] {
  return framesOf(receiver, packets).filter((frame) => frame.kind === 'video');
}

/** Of each picture. */
export function nalsOf(frames: readonly VideoFrame[]): readonly (readonly Buffer[])[] {
  return frames.map(({ nals }) => nals);
}

/** From one number to another, both included. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** `k` for a key frame, `.` for another. */
export function rowOf(frames: readonly VideoFrame[]): string {
  return frames.map(({ key }) => (key ? 'k' : '.')).join('');
}

/** The media of a description that is known to be right. */
export function sdpMedia(sdp: string): MediaDescription[] {
  return sdp
    .split(/^(?=m=)/m)
    .slice(1)
    .map(mediumIn);
}

function mediumIn(text: string): MediaDescription {
  const [, kind] = /^m=(video|audio)/.exec(text) ?? [];
  const [, type = '', encoding = '', rate = '', channels = '1'] =
    /^a=rtpmap:(\d+) ([^/\s]+)\/(\d+)(?:\/(\d+))?/m.exec(text) ?? [];
  const parameters = (/^a=fmtp:\d+ (.*)$/m.exec(text)?.[1] ?? '').split(';').map((each): [string, string] => {
    const [name = '', ...value] = each.trim().split('=');
    return [name.toLowerCase(), value.join('=')];
  });
  return {
    kind: kind === 'audio' ? 'audio' : 'video',
    payloadType: Number(type),
    encoding: encoding.toUpperCase(),
    clockRate: Number(rate),
    channels: Number(channels),
    parameters: new Map(parameters),
  };
}
