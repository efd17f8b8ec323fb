import { randomInt } from 'node:crypto';

/** Payload type of our video in SDP and RTP. */
export const PAYLOAD_TYPE = 96;
/** RTP clock of H.264 (RFC 6184, section 5.1). */
export const CLOCK_RATE = 90_000;

const RTP_HEADER = 12;
const MAX_PAYLOAD = 1388;
const FU_A = 28;
const STAP_A = 24;

export interface PacketiserOptions {
  /** Put the parameter sets of a key frame into one aggregation packet instead of one packet each. */
  aggregateParameterSets?: boolean;
}

/** Turns the NAL units of a picture into RTP packets (RFC 3550; RFC 6184, packetization-mode 1). */
export class Packetiser {
  readonly ssrc = randomInt(1, 2 ** 32);
  /** Packets and payload bytes made so far, as sender reports count them. */
  packets = 0;
  octets = 0;
  /** Sequence number of the next packet. */
  sequence = randomInt(0, 2 ** 15);
  readonly #aggregate: boolean;

  constructor(options: PacketiserOptions = {}) {
    this.#aggregate = options.aggregateParameterSets ?? false;
  }

  /** Packets of one picture; the marker bit is on the last one. `timestamp` counts ticks of 90 kHz. */
  picture(nals: readonly Buffer[], timestamp: number): Buffer[] {
    const payloads = (this.#aggregate ? aggregate(nals) : nals).flatMap(fragment);
    return payloads.map((payload, i) => this.#packet(payload, timestamp, i === payloads.length - 1));
  }

  #packet(payload: Buffer, timestamp: number, last: boolean): Buffer {
    const packet = Buffer.allocUnsafe(RTP_HEADER + payload.length);
    packet[0] = 0x80;
    packet[1] = PAYLOAD_TYPE | (last ? 0x80 : 0);
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

function fragment(nal: Buffer): Buffer[] {
  const header = nal[0] ?? 0;
  if (nal.length <= MAX_PAYLOAD) return [nal];
  const pieces: Buffer[] = [];
  const room = MAX_PAYLOAD - 2;
  for (let at = 1; at < nal.length; at += room) {
    const piece = nal.subarray(at, at + room);
    const first = at === 1 ? 0x80 : 0;
    const last = at + room >= nal.length ? 0x40 : 0;
    pieces.push(
      Buffer.concat([Buffer.from([(header & 0xe0) | FU_A, first | last | (header & 0x1f)]), piece]),
    );
  }
  return pieces;
}

// Everything before the slice of a key frame (parameter sets, at most a supplemental unit) as one STAP-A.
function aggregate(nals: readonly Buffer[]): Buffer[] {
  const small = nals.slice(0, -1);
  if (small.length < 2) return [...nals];
  const parts = small.flatMap((nal) => {
    const size = Buffer.alloc(2);
    size.writeUInt16BE(nal.length);
    return [size, nal];
  });
  return [Buffer.concat([Buffer.from([0x60 | STAP_A]), ...parts]), ...nals.slice(-1)];
}
