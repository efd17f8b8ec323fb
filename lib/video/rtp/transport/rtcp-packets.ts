/** What a sender says of its clocks (RFC 3550, section 6.4.1). */
export interface SenderReport {
  kind: 'sender-report';
  ssrc: number;
  /** Wall clock as NTP has it: seconds since 1900, which wrap in 2036, and their fraction of 2^32. */
  ntpSeconds: number;
  ntpFraction: number;
  rtpTime: number;
}

/** Sources that end (section 6.6). */
export interface Bye {
  kind: 'bye';
  ssrcs: number[];
}

const VERSION = 2;
const SENDER_REPORT = 200;
const BYE = 203;

/** What of a compound packet, or of a lone one, is for a receiver (RFC 3550, section 6.1); nothing from where it is broken. */
export function readRtcp(bytes: Buffer): (SenderReport | Bye)[] {
  const read: (SenderReport | Bye)[] = [];
  for (let at = 0; at + 4 <= bytes.length;) {
    if (bytes.readUInt8(at) >> 6 !== VERSION) return read;
    const end = at + 4 + bytes.readUInt16BE(at + 2) * 4;
    if (end > bytes.length) return read;
    const told = readOne(bytes.subarray(at, end));
    if (told !== undefined) read.push(told);
    at = end;
  }
  return read;
}

function readOne(bytes: Buffer): SenderReport | Bye | undefined {
  const type = bytes.readUInt8(1);
  if (type === SENDER_REPORT && bytes.length >= 28) return senderReportIn(bytes);
  return type === BYE ? byeIn(bytes) : undefined;
}

function senderReportIn(bytes: Buffer): SenderReport {
  return {
    kind: 'sender-report',
    ssrc: bytes.readUInt32BE(4),
    ntpSeconds: bytes.readUInt32BE(8),
    ntpFraction: bytes.readUInt32BE(12),
    rtpTime: bytes.readUInt32BE(16),
  };
}

function byeIn(bytes: Buffer): Bye {
  const count = Math.min(bytes.readUInt8(0) & 0x1f, bytes.length / 4 - 1);
  return {
    kind: 'bye',
    ssrcs: Array.from({ length: count }, (_, index) => bytes.readUInt32BE(4 + index * 4)),
  };
}
