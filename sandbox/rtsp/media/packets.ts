import { randomInt } from 'node:crypto';

/** Bytes that fit into an Ethernet frame after the headers of IP, UDP and RTP. */
const MAX_PAYLOAD = 1388;

/** The payload format of a codec; NAL unit headers differ (H.264: 1 byte, H.265: 2). */
interface NalFormat {
  headerBytes: number;
  isParameterSet(nal: Buffer): boolean;
  aggregateHeader(nals: readonly Buffer[]): Buffer;
  /** Header of a fragment; the bits of `ends` mark the first and the last one. */
  fragmentHeader(nal: Buffer, ends: number): Buffer;
}

const STAP_A = 24;
const FU_A = 28;
/** RFC 6184, sections 5.7.1 and 5.8. */
const H264: NalFormat = {
  headerBytes: 1,
  isParameterSet: (nal) => [7, 8].includes((nal[0] ?? 0) & 0x1f),
  aggregateHeader: (nals) => Buffer.from([Math.max(...nals.map((nal) => (nal[0] ?? 0) & 0x60)) | STAP_A]),
  fragmentHeader: (nal, ends) => Buffer.from([((nal[0] ?? 0) & 0xe0) | FU_A, ends | ((nal[0] ?? 0) & 0x1f)]),
};

const AGGREGATION_PACKET = 48;
const FRAGMENTATION_UNIT = 49;
/** RFC 7798, sections 4.4.2 and 4.4.3. */
const H265: NalFormat = {
  headerBytes: 2,
  isParameterSet: (nal) => [32, 33, 34].includes(((nal[0] ?? 0) >>> 1) & 0x3f),
  aggregateHeader: () => Buffer.from([AGGREGATION_PACKET << 1, 1]),
  fragmentHeader: (nal, ends) =>
    Buffer.from([
      ((nal[0] ?? 0) & 0x81) | (FRAGMENTATION_UNIT << 1),
      nal[1] ?? 0,
      ends | (((nal[0] ?? 0) >>> 1) & 0x3f),
    ]),
};

const FIRST = 0x80;
const LAST = 0x40;

/** Payloads of a picture: large NAL units are fragmented, small ones aggregated. */
export function videoPayloads(
  codec: 'h264' | 'h265',
  nals: readonly Buffer[],
  aggregateParameterSets = false,
): Buffer[] {
  const format = codec === 'h264' ? H264 : H265;
  const alone = (nal: Buffer): boolean => !aggregateParameterSets && format.isParameterSet(nal);
  return bundles(nals, alone).flatMap((bundle) => payloadsOf(bundle, format));
}

/** One audio frame: 13 bits of length, 3 bits of index, data (RFC 3640, section 3.3.6, AAC-hbr). */
export function soundPayload(frame: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16BE(16, 0);
  header.writeUInt16BE(frame.length << 3, 2);
  return Buffer.concat([header, frame]);
}

/** Groups consecutive NAL units that share a payload. */
function bundles(nals: readonly Buffer[], alone: (nal: Buffer) => boolean): Buffer[][] {
  const list: Buffer[][] = [];
  let free = 0;
  for (const nal of nals) {
    const size = nal.length + 2;
    const fits = size <= free && !alone(nal);
    if (fits) list.at(-1)?.push(nal);
    else list.push([nal]);
    free = alone(nal) ? 0 : (fits ? free : MAX_PAYLOAD - 2) - size;
  }
  return list;
}

function payloadsOf(bundle: readonly Buffer[], format: NalFormat): Buffer[] {
  const [first] = bundle;
  if (first === undefined) return [];
  if (bundle.length === 1) return first.length <= MAX_PAYLOAD ? [first] : fragments(first, format);
  const parts = bundle.flatMap((nal) => {
    const size = Buffer.alloc(2);
    size.writeUInt16BE(nal.length);
    return [size, nal];
  });
  return [Buffer.concat([format.aggregateHeader(bundle), ...parts])];
}

function fragments(nal: Buffer, format: NalFormat): Buffer[] {
  const pieces: Buffer[] = [];
  const free = MAX_PAYLOAD - format.headerBytes - 1;
  for (let at = format.headerBytes; at < nal.length; at += free) {
    const ends = (at === format.headerBytes ? FIRST : 0) | (at + free >= nal.length ? LAST : 0);
    pieces.push(Buffer.concat([format.fragmentHeader(nal, ends), nal.subarray(at, at + free)]));
  }
  return pieces;
}

const RTP_HEADER = 12;

/** Puts payloads into RTP packets of one source (RFC 3550, section 5.1). */
export class RtpPackets {
  readonly ssrc = randomInt(1, 2 ** 32);
  /** Packets and payload bytes so far, for sender reports. */
  packets = 0;
  octets = 0;
  /** Sequence number of the next packet. */
  sequence = randomInt(0, 2 ** 15);

  constructor(private readonly payloadType: number) {}

  /** The packets of a picture or audio frame; the last has the marker bit. `timestamp` in RTP clock ticks. */
  of(payloads: readonly Buffer[], timestamp: number): Buffer[] {
    return payloads.map((payload, i) => this.#packet(payload, timestamp, i === payloads.length - 1));
  }

  #packet(payload: Buffer, timestamp: number, last: boolean): Buffer {
    const packet = Buffer.allocUnsafe(RTP_HEADER + payload.length);
    packet[0] = 0x80;
    packet[1] = this.payloadType | (last ? 0x80 : 0);
    packet.writeUInt16BE(this.sequence & 0xffff, 2);
    packet.writeUInt32BE(timestamp >>> 0, 4);
    packet.writeUInt32BE(this.ssrc, 8);
    payload.copy(packet, RTP_HEADER);
    this.sequence = (this.sequence + 1) & 0xffff;
    this.packets++;
    this.octets += payload.length;
    return packet;
  }
}

const SENDER_REPORT = 200;
const SOURCE_DESCRIPTION = 202;
const BYE = 203;
const CANONICAL_NAME = 1;
/** Seconds between 1900 (NTP) and 1970 (epoch). */
const NTP_OFFSET = 2_208_988_800;

export interface SenderState {
  ssrc: number;
  /** Wall clock at the RTP timestamp, epoch milliseconds. */
  wallClock: number;
  timestamp: number;
  packets: number;
  octets: number;
}

/** Sender report with source description: maps RTP time to the wall clock (RFC 3550, section 6.4.1). */
export function senderReport(sender: SenderState): Buffer {
  return Buffer.concat([report(sender), description(sender.ssrc)]);
}

/** End of the stream as a compound packet (RFC 3550, section 6.1). ffmpeg ignores a lone BYE and waits for its own timeout. */
export function compoundBye(sender: SenderState): Buffer {
  return Buffer.concat([report(sender), description(sender.ssrc), loneBye(sender.ssrc)]);
}

/** A BYE outside a compound packet: violates the standard, used by a fault. */
export function loneBye(ssrc: number): Buffer {
  const packet = header(1, BYE, 8);
  packet.writeUInt32BE(ssrc, 4);
  return packet;
}

function report(sender: SenderState): Buffer {
  const packet = header(0, SENDER_REPORT, 28);
  const seconds = Math.floor(sender.wallClock / 1000);
  const fraction = (sender.wallClock / 1000 - seconds) * 2 ** 32;
  packet.writeUInt32BE(sender.ssrc, 4);
  packet.writeUInt32BE((seconds + NTP_OFFSET) % 2 ** 32, 8);
  packet.writeUInt32BE(Math.floor(fraction) >>> 0, 12);
  packet.writeUInt32BE(sender.timestamp >>> 0, 16);
  packet.writeUInt32BE(sender.packets >>> 0, 20);
  packet.writeUInt32BE(sender.octets >>> 0, 24);
  return packet;
}

function description(ssrc: number): Buffer {
  const name = Buffer.from('sandbox@127.0.0.1');
  const unpadded = 8 + 2 + name.length;
  // The item list ends with at least one zero byte, on a 32-bit boundary.
  const packet = header(1, SOURCE_DESCRIPTION, Math.ceil((unpadded + 1) / 4) * 4);
  packet.writeUInt32BE(ssrc, 4);
  packet[8] = CANONICAL_NAME;
  packet[9] = name.length;
  name.copy(packet, 10);
  return packet;
}

function header(count: number, type: number, bytes: number): Buffer {
  const packet = Buffer.alloc(bytes);
  packet[0] = 0x80 | count;
  packet[1] = type;
  packet.writeUInt16BE(bytes / 4 - 1, 2);
  return packet;
}
