export interface BufferedPacket {
  packet: RtpPacket;
  /** Packets directly before this one are missing, or may be missing. */
  gap: boolean;
}

/** Packets that wait for a late one: a relay may forward packets that it received by UDP. */
const MOST_HELD = 16;
/**
 * A packet further ahead starts a new numbering. One less than `MOST_BEHIND` behind is late or a duplicate (RFC 3550, appendix
 * A.1).
 */
const MOST_AHEAD = 3000;
const MOST_BEHIND = 100;
const NUMBERS = 0x10000;

/**
 * Puts the packets of one source in order by their 16-bit sequence numbers, each once. A missing packet counts as lost once
 * more than `mostHeld` later ones wait.
 */
export class JitterBuffer {
  /** Packets that never arrived. */
  lost = 0;
  /** Packets received in this numbering, duplicates included. */
  received = 0;
  /** The first and the highest sequence number, extended so that they do not wrap. */
  first = 0;
  highest = 0;
  #expected: number | undefined;
  readonly #buffered = new Map<number, RtpPacket>();
  /** A packet with a distant number; the next packet decides whether a new numbering has begun. */
  #stray: RtpPacket | undefined;

  /**
   * @param announced sequence number of the first packet; ignored unless the first packet has it or one of
   *   the next few
   * @param mostHeld packets that wait for a missing one
   */
  constructor(
    private readonly announced?: number,
    private readonly mostHeld = MOST_HELD,
  ) {}

  /** @returns the packets that are in order now */
  add(packet: RtpPacket): BufferedPacket[] {
    if (this.#expected === undefined && !this.#startAnnounced(packet)) return this.#begin([packet], false);
    this.#expected ??= packet.sequence;
    const ahead = signed16(packet.sequence - this.#expected);
    if (ahead > MOST_AHEAD || ahead < -MOST_BEHIND) return this.#addStray(packet);
    this.#stray = undefined;
    this.received += 1;
    if (ahead < 0) return [];
    const number = this.#expected + ahead;
    this.highest = Math.max(this.highest, number);
    this.#buffered.set(number, ahead === 0 ? packet : copyOf(packet));
    return this.#released(this.mostHeld);
  }

  /** Returns all waiting packets, although packets between them are missing. */
  flush(): BufferedPacket[] {
    return this.#released(0);
  }

  #startAnnounced({ sequence }: RtpPacket): boolean {
    const { announced } = this;
    const ahead = announced === undefined ? -1 : signed16(sequence - announced);
    if (announced === undefined || ahead < 0 || ahead > MOST_HELD) return false;
    this.#expected = announced;
    this.first = announced;
    this.highest = announced;
    return true;
  }

  #begin(packets: readonly RtpPacket[], gap: boolean): BufferedPacket[] {
    const [{ sequence } = { sequence: 0 }] = packets;
    this.first = sequence;
    this.highest = sequence + packets.length - 1;
    this.received = packets.length;
    this.#expected = this.highest + 1;
    return packets.map((packet, index) => ({ packet, gap: gap && index === 0 }));
  }

  /** Two consecutive strays start a new numbering; a single one is ignored. */
  #addStray(packet: RtpPacket): BufferedPacket[] {
    const before = this.#stray;
    this.#stray = copyOf(packet);
    if (before === undefined || signed16(packet.sequence - before.sequence) !== 1) return [];
    this.#stray = undefined;
    return [...this.flush(), ...this.#begin([before, packet], true)];
  }

  /** Releases packets until at most `most` wait. */
  #released(most: number): BufferedPacket[] {
    const ordered: BufferedPacket[] = [];
    for (;;) {
      const next = this.#take();
      if (next !== undefined) ordered.push(next);
      else if (this.#buffered.size <= most) return ordered;
      else ordered.push(...this.#afterGap());
    }
  }

  #take(): BufferedPacket | undefined {
    const packet = this.#expected === undefined ? undefined : this.#buffered.get(this.#expected);
    if (packet === undefined || this.#expected === undefined) return undefined;
    this.#buffered.delete(this.#expected);
    this.#expected += 1;
    return { packet, gap: false };
  }

  #afterGap(): BufferedPacket[] {
    const number = Math.min(...this.#buffered.keys());
    this.lost += number - (this.#expected ?? number);
    this.#expected = number;
    const next = this.#take();
    return next === undefined ? [] : [{ ...next, gap: true }];
  }
}

/** Copies the payload of a packet that waits: the receive buffer is reused. */
function copyOf(packet: RtpPacket): RtpPacket {
  return { ...packet, payload: Buffer.from(packet.payload) };
}

/** Difference of 16-bit sequence numbers, to the nearer side. */
function signed16(difference: number): number {
  const positive = ((difference % NUMBERS) + NUMBERS) % NUMBERS;
  return positive >= NUMBERS / 2 ? positive - NUMBERS : positive;
}

export interface RtpPacket {
  payloadType: number;
  /** 16 bits, which wrap. */
  sequence: number;
  /** 32 bits, which wrap. */
  rtpTime: number;
  /** Identifies the source of the packet. */
  ssrc: number;
  /** In video: the last packet of a picture. */
  marker: boolean;
  /** May be empty: some senders keep a connection open with empty packets. */
  payload: Buffer;
}

const VERSION = 2;
const FIXED_HEADER = 12;

/** Parses an RTP packet (RFC 3550, section 5.1; extension: 5.3.1); undefined where the bytes are not one. */
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
  // The length in 32-bit words follows the 16 bits of the profile.
  if (start + 4 > bytes.length) return Infinity;
  return start + 4 + bytes.readUInt16BE(start + 2) * 4;
}

/**
 * The last byte is the padding length, itself included. Some senders write 0 there, or set the padding bit without padding:
 * then nothing is removed.
 */
function beforePadding(bytes: Buffer, start: number): number {
  const end = bytes.length - bytes.readUInt8(bytes.length - 1);
  return end < start ? bytes.length : end;
}
