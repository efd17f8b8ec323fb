import { randomBytes } from 'node:crypto';
import type { RtpPacket } from './jitter-buffer';

/** Sender report: one moment on the sender's wall clock and on its RTP clock (RFC 3550, section 6.4.1). */
export interface SenderReport {
  kind: 'sender-report';
  ssrc: number;
  /** NTP time: seconds since 1900, which wrap in 2036, and a fraction in units of 2^-32 seconds. */
  ntpSeconds: number;
  ntpFraction: number;
  rtpTime: number;
}

/** The listed sources have ended (section 6.6). */
export interface Bye {
  kind: 'bye';
  ssrcs: number[];
}

const VERSION = 2;
const SENDER_REPORT = 200;
const BYE = 203;

/**
 * Reads the sender reports and BYEs of a compound or single packet (RFC 3550, section 6.1); stops at the first malformed one.
 */
export function readRtcp(bytes: Buffer): (SenderReport | Bye)[] {
  const read: (SenderReport | Bye)[] = [];
  for (let at = 0; at + 4 <= bytes.length;) {
    if (bytes.readUInt8(at) >> 6 !== VERSION) return read;
    const end = at + 4 + bytes.readUInt16BE(at + 2) * 4;
    if (end > bytes.length) return read;
    const report = readOne(bytes.subarray(at, end));
    if (report !== undefined) read.push(report);
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

/** Sequence numbers of a source, extended so that they do not wrap, and the number of packets received. */
interface Numbering {
  first: number;
  highest: number;
  received: number;
}

const RECEIVER_REPORT = 201;
const SOURCE_DESCRIPTION = 202;
const CNAME = 1;
/** Denominator of the fraction lost. */
const ALL = 256;
const MOST_LOST = 0x7fffff;

/** Makes receiver reports: losses and jitter of one source (RFC 3550, sections 6.4.2 and 6.4.3). */
export class ReceiverReporter {
  readonly #ssrc = randomBytes(4);
  /** Random CNAME, which stays the same (RFC 7022, section 4.2). */
  readonly #name = randomBytes(12).toString('base64');
  #jitter = 0;
  #transit: number | undefined;
  #lastReport: { middle: number; at: number } | undefined;
  #before = { expected: 0, received: 0 };

  /**
   * @param rate RTP ticks per second
   * @param now monotonic clock in milliseconds
   */
  constructor(
    private readonly rate: number,
    private readonly now: () => number,
  ) {}

  /** A new source has begun: resets the figures of the previous one. */
  anotherSource(): void {
    this.#jitter = 0;
    this.#transit = undefined;
    this.#lastReport = undefined;
    this.#before = { expected: 0, received: 0 };
  }

  /** Updates the jitter, in ticks (appendix A.8). */
  packetCame({ rtpTime }: RtpPacket): void {
    const transit = ((this.now() * this.rate) / 1000 - rtpTime) % ALL_TIMES;
    const difference = Math.abs(nearer(transit - (this.#transit ?? transit)));
    this.#transit = transit;
    this.#jitter += (difference - this.#jitter) / 16;
  }

  senderReportCame({ ntpSeconds, ntpFraction }: SenderReport): void {
    const middle = (ntpSeconds % 0x10000) * 0x10000 + (ntpFraction >>> 16);
    this.#lastReport = { middle, at: this.now() };
  }

  /** A compound packet of the receiver report, empty before the first packet, and the CNAME. */
  report(source: number | undefined, numbering: Numbering): Buffer {
    const block = source === undefined ? Buffer.alloc(0) : this.#block(source, numbering);
    const count = block.length === 0 ? 0 : 1;
    return Buffer.concat([
      head(count, RECEIVER_REPORT, 4 + block.length),
      this.#ssrc,
      block,
      this.#description(),
    ]);
  }

  #block(source: number, numbering: Numbering): Buffer {
    const block = Buffer.alloc(24);
    block.writeUInt32BE(source, 0);
    this.#writeLosses(block, numbering);
    block.writeUInt32BE(numbering.highest % 2 ** 32, 8);
    block.writeUInt32BE(Math.min(Math.floor(this.#jitter), 0xffffffff), 12);
    if (this.#lastReport === undefined) return block;
    const { middle, at } = this.#lastReport;
    block.writeUInt32BE(middle, 16);
    const delay = Math.floor(((this.now() - at) * 0x10000) / 1000);
    block.writeUInt32BE(Math.max(0, Math.min(delay, 0xffffffff)), 20);
    return block;
  }

  /** Losses since the last report and in total (appendix A.3); duplicates count as received. */
  #writeLosses(block: Buffer, { first, highest, received }: Numbering): void {
    const expected = highest - first + 1;
    const before = expected < this.#before.expected ? { expected: 0, received: 0 } : this.#before;
    const due = expected - before.expected;
    const missing = Math.max(0, due - (received - before.received));
    this.#before = { expected, received };
    block.writeUInt8(due === 0 ? 0 : Math.min(ALL - 1, Math.floor((missing * ALL) / due)), 4);
    const lost = Math.max(-MOST_LOST, Math.min(MOST_LOST, expected - received));
    block.writeIntBE(lost, 5, 3);
  }

  #description(): Buffer {
    const item = Buffer.concat([Buffer.from([CNAME, this.#name.length]), Buffer.from(this.#name)]);
    // At least one zero byte ends the items, and the length is a multiple of four.
    const padding = Buffer.alloc(4 - (item.length % 4));
    const length = 4 + item.length + padding.length;
    return Buffer.concat([head(1, SOURCE_DESCRIPTION, length), this.#ssrc, item, padding]);
  }
}

const ALL_TIMES = 2 ** 32;

/** Difference of 32-bit RTP times, to the nearer side. */
function nearer(difference: number): number {
  return difference - ALL_TIMES * Math.round(difference / ALL_TIMES);
}

/** @param length bytes that follow this head */
function head(count: number, type: number, length: number): Buffer {
  const bytes = Buffer.from([0x80 | count, type, 0, 0]);
  bytes.writeUInt16BE(length / 4, 2);
  return bytes;
}

/** Seconds from the NTP epoch (1900) to the Unix epoch (1970). */
const NTP_TO_UNIX = 2_208_988_800;
/**
 * NTP seconds wrap here, in 2036. Values with the highest bit belong to the years since 1968, all others to those after the
 * wrap (RFC 4330, section 3).
 */
const ERA = 2 ** 32;
/** An earlier time is not of a wall clock: the sender counts from its start or has no clock. */
const EARLIEST = Date.UTC(2000, 0, 1);

/** Milliseconds since 1970; undefined where the sender has no wall clock and sends 0 or the time since it was switched on. */
export function wallMsOf({ ntpSeconds, ntpFraction }: SenderReport): number | undefined {
  if (ntpSeconds === 0) return undefined;
  const seconds = (ntpSeconds >= ERA / 2 ? ntpSeconds : ntpSeconds + ERA) - NTP_TO_UNIX;
  const ms = (seconds + ntpFraction / ERA) * 1000;
  return ms < EARLIEST ? undefined : ms;
}
