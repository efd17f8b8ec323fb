/** A recording as a relay sends it. */
export interface PacketisedRecording {
  sps: Buffer;
  pps: Buffer;
  /** Each as its packets, in one piece: what is written at a time. */
  pictures: readonly Buffer[];
}

export const PAYLOAD_TYPE = 96;
/** RTP clock of H.264 (RFC 6184, section 5.1). */
export const CLOCK_RATE = 90_000;
const SSRC = 0x52564d;
/** Bytes of RTP payload in a packet of an Ethernet. */
const MOST = 1400;
const TYPES = { slice: 1, key: 5, sps: 7, pps: 8 } as const;
const FU_A = 28;

/**
 * A recording with one slice a picture, as a relay sends it: all packets are made beforehand, so that a session costs the relay
 * hardly anything. Numbers and times begin at 0 in each.
 */
export function packetised(stream: Buffer, rate: number): PacketisedRecording {
  const nals = nalsIn(stream);
  const [sps, pps] = [
    nals.find((nal) => typeOf(nal) === TYPES.sps),
    nals.find((nal) => typeOf(nal) === TYPES.pps),
  ];
  if (sps === undefined || pps === undefined) throw new Error('the recording has no parameter sets');
  const slices = nals.filter((nal) => typeOf(nal) === TYPES.slice || typeOf(nal) === TYPES.key);
  let sequence = 0;
  const pictures = slices.map((slice, index) => {
    const units = typeOf(slice) === TYPES.key ? [sps, pps, slice] : [slice];
    const payloads = units.flatMap(payloadsOf);
    const packets = payloads.map((payload, at) => {
      const head = headOf(payload.length, sequence, (index * CLOCK_RATE) / rate, at === payloads.length - 1);
      sequence = (sequence + 1) & 0xffff;
      return Buffer.concat([head, payload]);
    });
    return Buffer.concat(packets);
  });
  return { sps, pps, pictures };
}

function typeOf(nal: Buffer): number {
  return (nal[0] ?? 0) & 0x1f;
}

/** What stands between start codes (ITU-T H.264, annex B). */
function nalsIn(stream: Buffer): Buffer[] {
  const starts: number[] = [];
  for (let at = stream.indexOf('\0\0\u0001'); at >= 0; at = stream.indexOf('\0\0\u0001', at + 3))
    starts.push(at);
  return starts.map((start, index) => {
    let end = starts[index + 1] ?? stream.length;
    // A start code may have one more zero in front.
    while (stream[end - 1] === 0) end -= 1;
    return stream.subarray(start + 3, end);
  });
}

/** Whole, or in pieces (RFC 6184, section 5.8). */
function payloadsOf(nal: Buffer): Buffer[] {
  if (nal.length <= MOST) return [nal];
  const header = nal[0] ?? 0;
  const pieces: Buffer[] = [];
  for (let at = 1; at < nal.length; at += MOST - 2) {
    const isFirst = at === 1 ? 0x80 : 0;
    const isLast = at + MOST - 2 >= nal.length ? 0x40 : 0;
    const indicator = Buffer.from([(header & 0xe0) | FU_A, isFirst | isLast | typeOf(nal)]);
    pieces.push(Buffer.concat([indicator, nal.subarray(at, at + MOST - 2)]));
  }
  return pieces;
}

/** Of the interleaved data (RFC 2326, section 10.12), on channel 0, and of the packet (RFC 3550, section 5.1). */
function headOf(payload: number, sequence: number, rtpTime: number, isLast: boolean): Buffer {
  const head = Buffer.alloc(16);
  head[0] = 0x24;
  head.writeUInt16BE(12 + payload, 2);
  head[4] = 0x80;
  head[5] = PAYLOAD_TYPE | (isLast ? 0x80 : 0);
  head.writeUInt16BE(sequence, 6);
  head.writeUInt32BE(rtpTime, 8);
  head.writeUInt32BE(SSRC, 12);
  return head;
}
