const SENDER_REPORT = 200;
const SOURCE_DESCRIPTION = 202;
const BYE = 203;
const CANONICAL_NAME = 1;
/** Seconds between 1900 (NTP) and 1970 (epoch). */
const NTP_OFFSET = 2_208_988_800;

export interface SenderState {
  ssrc: number;
  /** Wall clock of the RTP time stamp, epoch milliseconds. */
  wallClock: number;
  /** RTP time stamp of that moment. */
  timestamp: number;
  packets: number;
  octets: number;
}

/** Sender report with source description: maps RTP time to the wall clock (RFC 3550, section 6.4.1). */
export function senderReport(sender: SenderState): Buffer {
  return Buffer.concat([report(sender), description(sender.ssrc)]);
}

/**
 * End of the stream as a compound packet (RFC 3550, section 6.1). ffmpeg ignores a BYE that comes alone
 * and waits for its own time-out.
 */
export function compoundBye(sender: SenderState): Buffer {
  return Buffer.concat([report(sender), description(sender.ssrc), loneBye(sender.ssrc)]);
}

/** A BYE outside a compound packet: against the standard, a fault on demand. */
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
