export interface BufferedPacket {
  packet: RtpPacket;
  /** Packets right before it are missing, or it is not known whether they are. */
  gap: boolean;
}

/** How many packets wait for one that is late: a relay may pass on what came to it by UDP. */
const MOST_HELD = 16;
/** What is further ahead is another numbering, and what is less far behind is late or a repetition (RFC 3550, appendix A.1). */
const MOST_AHEAD = 3000;
const MOST_BEHIND = 100;
const NUMBERS = 0x10000;

/**
 * Brings the packets of one source in their order, each once, by their 16-bit numbers. What does not come while a few others
 * do is lost.
 */
export class JitterBuffer {
  /** Packets that did not come. */
  lost = 0;
  /** Packets that came, in this numbering: repeated ones, too. */
  received = 0;
  /** The first and the highest number, as if they did not wrap. */
  first = 0;
  highest = 0;
  #expected: number | undefined;
  readonly #held = new Map<number, RtpPacket>();
  /** One that is far off, until the next says whether the numbering is another one. */
  #stray: RtpPacket | undefined;

  /**
   * @param announced number of the first packet; it counts where packets begin at it or soon behind it
   * @param mostHeld packets that wait for one that is missing
   */
  constructor(
    private readonly announced?: number,
    private readonly mostHeld = MOST_HELD,
  ) {}

  /** What can be read now. */
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
    this.#held.set(number, ahead === 0 ? packet : kept(packet));
    return this.#released(this.mostHeld);
  }

  /** What still waits, though something before it is missing. */
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

  /** Two that follow each other tell of another numbering; a single one is a mistake. */
  #addStray(packet: RtpPacket): BufferedPacket[] {
    const before = this.#stray;
    this.#stray = kept(packet);
    if (before === undefined || signed16(packet.sequence - before.sequence) !== 1) return [];
    this.#stray = undefined;
    return [...this.flush(), ...this.#begin([before, packet], true)];
  }

  /** Until no more than so many wait. */
  #released(most: number): BufferedPacket[] {
    const ordered: BufferedPacket[] = [];
    for (;;) {
      const next = this.#take();
      if (next !== undefined) ordered.push(next);
      else if (this.#held.size <= most) return ordered;
      else ordered.push(...this.#afterGap());
    }
  }

  #take(): BufferedPacket | undefined {
    const packet = this.#expected === undefined ? undefined : this.#held.get(this.#expected);
    if (packet === undefined || this.#expected === undefined) return undefined;
    this.#held.delete(this.#expected);
    this.#expected += 1;
    return { packet, gap: false };
  }

  #afterGap(): BufferedPacket[] {
    const number = Math.min(...this.#held.keys());
    this.lost += number - (this.#expected ?? number);
    this.#expected = number;
    const next = this.#take();
    return next === undefined ? [] : [{ ...next, gap: true }];
  }
}

/** One that waits: the memory that it came in is soon that of others. */
function kept(packet: RtpPacket): RtpPacket {
  return { ...packet, payload: Buffer.from(packet.payload) };
}

/** A difference of numbers that wrap, to the nearer side. */
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
