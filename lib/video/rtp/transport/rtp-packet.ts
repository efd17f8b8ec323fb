export interface RtpPacket {
  payloadType: number;
  /** 16 bits, which wrap. */
  sequence: number;
  /** 32 bits, which wrap. */
  rtpTime: number;
  /** Whose packet it is. */
  ssrc: number;
  /** Of video: the last of a picture. */
  marker: boolean;
  /** May be empty: some senders keep a connection open so. */
  payload: Buffer;
}

const VERSION = 2;
const FIXED_HEADER = 12;

/** Reads a packet (RFC 3550, section 5.1; extension: 5.3.1); undefined for what is none. */
export function readRtpPacket(bytes: Buffer): RtpPacket | undefined {
  if (bytes.length < FIXED_HEADER) return undefined;
  const [first, second] = [bytes.readUInt8(0), bytes.readUInt8(1)];
  if (first >> 6 !== VERSION) return undefined;
  const payload = payloadOf(bytes, first);
  if (payload === undefined) return undefined;
  return {
    payloadType: second & 0x7f,
    sequence: bytes.readUInt16BE(2),
    rtpTime: bytes.readUInt32BE(4),
    ssrc: bytes.readUInt32BE(8),
    marker: (second & 0x80) !== 0,
    payload,
  };
}

function payloadOf(bytes: Buffer, first: number): Buffer | undefined {
  const sources = first & 0x0f;
  const start = behindExtension(bytes, FIXED_HEADER + sources * 4, (first & 0x10) !== 0);
  if (start > bytes.length) return undefined;
  return bytes.subarray(start, (first & 0x20) !== 0 ? beforePadding(bytes, start) : bytes.length);
}

function behindExtension(bytes: Buffer, start: number, isThere: boolean): number {
  if (!isThere) return start;
  // The words that follow, after 16 bits that say of which kind they are.
  if (start + 4 > bytes.length) return Infinity;
  return start + 4 + bytes.readUInt16BE(start + 2) * 4;
}

/** The last byte counts itself. Some senders have it say 0, or set the mark without any: then nothing is cut off. */
function beforePadding(bytes: Buffer, start: number): number {
  const end = bytes.length - bytes.readUInt8(bytes.length - 1);
  return end < start ? bytes.length : end;
}
