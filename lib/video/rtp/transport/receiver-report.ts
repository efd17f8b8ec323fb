import { randomBytes } from 'node:crypto';
import type { SenderReport } from './rtcp-packets';
import type { RtpPacket } from './rtp-packet';

/** Numbers of the packets of a source, as if they did not wrap, and how many of them came. */
export interface Numbering {
  first: number;
  highest: number;
  received: number;
}

const RECEIVER_REPORT = 201;
const SOURCE_DESCRIPTION = 202;
const CNAME = 1;
/** A fraction of so many is all. */
const ALL = 256;
const MOST_LOST = 0x7fffff;

/** What a receiver tells a source of how its packets come (RFC 3550, sections 6.4.2 and 6.4.3). */
export class ReceiverReporter {
  readonly #ssrc = randomBytes(4);
  /** Means nothing but that it is always the same one (RFC 7022, section 4.2). */
  readonly #name = randomBytes(12).toString('base64');
  #jitter = 0;
  #transit: number | undefined;
  #lastReport: { middle: number; at: number } | undefined;
  #before = { expected: 0, received: 0 };

  /**
   * @param rate ticks in a second
   * @param now milliseconds of a steady clock
   */
  constructor(
    private readonly rate: number,
    private readonly now: () => number,
  ) {}

  /** The source is another one: what is known of the former says nothing. */
  anotherSource(): void {
    this.#jitter = 0;
    this.#transit = undefined;
    this.#lastReport = undefined;
    this.#before = { expected: 0, received: 0 };
  }

  /** Appendix A.8, in ticks. */
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

  /** A compound packet: the report, which is empty where nothing came yet, and who we are. */
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

  /** Appendix A.3: since the last report, and in all; what came twice counts as come. */
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
    // At least one zero ends the items, and the next word begins on a multiple of four.
    const padding = Buffer.alloc(4 - (item.length % 4));
    const length = 4 + item.length + padding.length;
    return Buffer.concat([head(1, SOURCE_DESCRIPTION, length), this.#ssrc, item, padding]);
  }
}

const ALL_TIMES = 2 ** 32;

/** A difference of times that wrap. */
function nearer(difference: number): number {
  return difference - ALL_TIMES * Math.round(difference / ALL_TIMES);
}

/** @param length bytes behind it */
function head(count: number, type: number, length: number): Buffer {
  const bytes = Buffer.from([0x80 | count, type, 0, 0]);
  bytes.writeUInt16BE(length / 4, 2);
  return bytes;
}
