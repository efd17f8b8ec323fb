/** What stands at the head of a packet (RFC 3550, section 5.1). */
export interface PacketFields {
  payloadType?: number;
  sequence?: number;
  rtpTime?: number;
  ssrc?: number;
  marker?: boolean;
  /** Contributing sources. */
  sources?: number;
  /** Bytes of an extension, a multiple of 4. */
  extension?: number;
  /** Bytes behind the payload, with the one that counts them. */
  padding?: number;
}

/** The source of packets, unless told otherwise. */
export const SSRC = 0x12345678;
export const VIDEO_TYPE = 96;

export function rtpPacket(payload: Buffer, fields: PacketFields = {}): Buffer {
  const { payloadType = VIDEO_TYPE, sequence = 0, rtpTime = 0, ssrc = SSRC, marker = false } = fields;
  const { sources = 0, extension, padding = 0 } = fields;
  const head = Buffer.alloc(12);
  head[0] = 0x80 | sources | (extension === undefined ? 0 : 0x10) | (padding > 0 ? 0x20 : 0);
  head[1] = (marker ? 0x80 : 0) | payloadType;
  head.writeUInt16BE(sequence & 0xffff, 2);
  head.writeUInt32BE(rtpTime >>> 0, 4);
  head.writeUInt32BE(ssrc, 8);
  const filler = Buffer.alloc(padding);
  if (padding > 0) filler[padding - 1] = padding;
  return Buffer.concat([head, Buffer.alloc(sources * 4), extensionBytes(extension), payload, filler]);
}

function extensionBytes(length: number | undefined): Buffer {
  if (length === undefined) return Buffer.alloc(0);
  const head = Buffer.from([0xbe, 0xde, 0, 0]);
  head.writeUInt16BE(length / 4, 2);
  return Buffer.concat([head, Buffer.alloc(length, 0x11)]);
}

/** Units behind each other, each with its length: what stands in STAP-A and in aggregation packets. */
export function lengthPrefixed(units: readonly Buffer[]): Buffer {
  return Buffer.concat(
    units.flatMap((unit) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(unit.length);
      return [length, unit];
    }),
  );
}

/** RFC 6184, section 5.7.1. */
export function stapA(units: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([0x78]), lengthPrefixed(units)]);
}

/** The payloads of a unit in pieces of so many bytes (RFC 6184, section 5.8). */
export function fuA(unit: Buffer, size: number): Buffer[] {
  const first = unit.readUInt8(0);
  return piecesOf(unit.subarray(1), size).map(({ piece, edges }) =>
    Buffer.concat([Buffer.from([(first & 0xe0) | 28, edges | (first & 0x1f)]), piece]),
  );
}

/** RFC 7798, section 4.4.2. */
export function aggregationPacket(units: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([48 << 1, 1]), lengthPrefixed(units)]);
}

/** RFC 7798, section 4.4.3. */
export function fragmentationUnits(unit: Buffer, size: number): Buffer[] {
  const [first, second] = [unit.readUInt8(0), unit.readUInt8(1)];
  return piecesOf(unit.subarray(2), size).map(({ piece, edges }) =>
    Buffer.concat([Buffer.from([(first & 0x81) | (49 << 1), second, edges | ((first >> 1) & 0x3f)]), piece]),
  );
}

/** At least two; `edges` has the bits of start and end. */
function piecesOf(bytes: Buffer, size: number): { piece: Buffer; edges: number }[] {
  const step = Math.max(1, Math.min(size, Math.ceil(bytes.length / 2)));
  const starts = Array.from({ length: Math.ceil(bytes.length / step) }, (_, index) => index * step);
  return starts.map((start, index) => ({
    piece: bytes.subarray(start, start + step),
    edges: (index === 0 ? 0x80 : 0) | (index === starts.length - 1 ? 0x40 : 0),
  }));
}

export interface ReportFields {
  ssrc?: number;
  ntpSeconds?: number;
  ntpFraction?: number;
  rtpTime?: number;
}

/** RFC 3550, section 6.4.1, without report blocks. */
export function senderReport(fields: ReportFields = {}): Buffer {
  const { ssrc = SSRC, ntpSeconds = 0, ntpFraction = 0, rtpTime = 0 } = fields;
  const report = Buffer.alloc(28);
  report[0] = 0x80;
  report[1] = 200;
  report.writeUInt16BE(6, 2);
  for (const [index, value] of [ssrc, ntpSeconds, ntpFraction, rtpTime].entries())
    report.writeUInt32BE(value >>> 0, 4 + index * 4);
  return report;
}

/** RFC 3550, section 6.6. */
export function bye(ssrcs: readonly number[] = [SSRC]): Buffer {
  const packet = Buffer.alloc(4 + ssrcs.length * 4);
  packet[0] = 0x80 | ssrcs.length;
  packet[1] = 203;
  packet.writeUInt16BE(ssrcs.length, 2);
  for (const [index, ssrc] of ssrcs.entries()) packet.writeUInt32BE(ssrc, 4 + index * 4);
  return packet;
}
