import { randomInt } from 'node:crypto';

const RTP_HEADER = 12;

/** Puts payloads into RTP packets of one source (RFC 3550, section 5.1). */
export class RtpPackets {
  readonly ssrc = randomInt(1, 2 ** 32);
  /** Packets and payload bytes made so far, as sender reports count them. */
  packets = 0;
  octets = 0;
  /** Sequence number of the next packet. */
  sequence = randomInt(0, 2 ** 15);
  readonly #payloadType: number;

  constructor(payloadType: number) {
    this.#payloadType = payloadType;
  }

  /** The packets of one picture or one frame of sound: the marker bit is on the last one. `timestamp` counts ticks. */
  of(payloads: readonly Buffer[], timestamp: number): Buffer[] {
    return payloads.map((payload, i) => this.#packet(payload, timestamp, i === payloads.length - 1));
  }

  #packet(payload: Buffer, timestamp: number, last: boolean): Buffer {
    const packet = Buffer.allocUnsafe(RTP_HEADER + payload.length);
    packet[0] = 0x80;
    packet[1] = this.#payloadType | (last ? 0x80 : 0);
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
