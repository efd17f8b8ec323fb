import { GrowingBuffer } from '../../bytes';
import type { StreamLimits } from './limits';

/** Headers of a message, by name in lower case. */
class HeaderFields {
  readonly #values = new Map<string, string[]>();

  add(name: string, value: string): void {
    const former = this.#values.get(name);
    if (former === undefined) this.#values.set(name, [value]);
    else former.push(value);
  }

  /** The first of that name. */
  get(name: string): string | undefined {
    return this.all(name)[0];
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }
}

/** The answer of a server to a request (RFC 2326, section 7). */
export interface Answer {
  kind: 'answer';
  status: number;
  headers: HeaderFields;
  body: string;
}

/** A request by the server (RFC 2326, section 6). */
export interface ServerRequest {
  kind: 'request';
  method: string;
  headers: HeaderFields;
}

/** Binary data between messages (RFC 2326, section 10.12). */
interface Packet {
  kind: 'packet';
  channel: number;
  data: Buffer;
}

export type Incoming = Answer | ServerRequest | Packet;

const DOLLAR = 0x24;
const LINE_FEED = 0x0a;
const PACKET_HEAD = 4;
const NOTHING = Buffer.alloc(0);
/** Bytes skipped between two packets: more than the longest packet, whose head may be missing. */
const MOST_PASSED = 128 * 1024;
/** Bytes of the shortest packet: a report. */
const LEAST_PACKET = 8;
/** Version of RTP and RTCP, in the upper two bits of a packet. */
const VERSION = 2;
const LETTER_R = 0x52;
/** Initial bytes of the buffer for incomplete data: the size of one read. */
const FIRST_SIZE = 64 * 1024;

const STATUS_LINE = /^RTSP\/\d\.\d (\d{3})(?: |$)/;
const STATUS_START = /^RTSP\/\d\.\d \d{3}$/;
const STATUS_START_BYTES = 12;
const REQUEST_LINE = /^([A-Z_]{1,32}) \S+ RTSP\/\d\.\d$/;
/** Control characters make a line invalid: a header that is sent back cannot forge a line of a message. */
const CONTROL = /[^\t\P{Cc}]/u;

type Head = Omit<Answer, 'body'> | ServerRequest;

/**
 * Splits the bytes of a relay into messages and packets, however they are chunked. Packets may also come between the lines of a
 * head, where some servers put them. Stores at most one head and one body. Some cameras leave bytes between packets or truncate
 * a packet: the parser then resumes at the next packet or answer.
 */
export class MessageParser {
  /** Bytes not parsed yet: a part of the current chunk or of `#buffer`. */
  #rest: Buffer = NOTHING;
  /** Reused: a buffer per read would leave megabytes of garbage. */
  readonly #buffer = new GrowingBuffer(FIRST_SIZE);
  #lines: string[] = [];
  #headBytes = 0;
  #head: { head: Head; bodyBytes: number } | undefined;
  /** Whether the input was not RTSP, or more than a limit allows. The parser then reads nothing more. */
  isUnreadable = false;
  /** Channels whose packets are expected. */
  readonly #channels = new Set<number>();
  /** A complete packet or message has arrived since the channels are known. */
  #isUnderWay = false;
  /** The parser is out of sync: the input is neither a packet nor a message. */
  #isLost = false;
  /** Bytes skipped since the last packet or message. */
  #passed = 0;

  constructor(private readonly limits: StreamLimits) {}

  /** After the next packet or message, bytes that are neither are skipped up to a packet of these channels or an answer. */
  expect(channels: Iterable<number>): void {
    for (const channel of channels) this.#channels.add(channel);
  }

  /** Whether no packet or message is incomplete. */
  get isBetweenMessages(): boolean {
    const isWithin = this.#lines.length > 0 || this.#head !== undefined;
    return this.#isLost || (this.#rest.length === 0 && !isWithin);
  }

  /** Bytes stored until more arrive. */
  get bufferedBytes(): number {
    return this.#rest.length + this.#headBytes;
  }

  /**
   * Parses the next bytes and returns the packets and messages that are complete. Never throws. The data of packets is not
   * copied: it is valid until the caller reuses the memory of `chunk` or pushes more.
   */
  push(chunk: Buffer): Incoming[] {
    if (this.isUnreadable) return [];
    const isAtStart = this.#rest.length === 0;
    this.#rest = isAtStart ? chunk : this.#keep(this.#rest, chunk);
    const whole: Incoming[] = [];
    while (this.#readNext(whole));
    if (this.isUnreadable) this.#forget();
    else if (isAtStart && this.#rest.length > 0) this.#rest = this.#keep(this.#rest);
    return whole;
  }

  /** @returns false where more bytes are needed, or the parser is at its end */
  #readNext(whole: Incoming[]): boolean {
    if (this.#rest.length === 0 && this.#head?.bodyBytes !== 0) return false;
    if (this.#isLost) return this.#seek();
    if (this.#head !== undefined) return this.#readBody(this.#head, whole);
    return this.#rest[0] === DOLLAR ? this.#readPacket(whole) : this.#readLine();
  }

  #readPacket(whole: Incoming[]): boolean {
    if (this.#rest.length < PACKET_HEAD) return false;
    // The length in a false head may swallow a whole picture.
    const isPacket = !this.#isUnderWay || isPacketOf(this.#rest);
    if (isPacket !== true) return isPacket === false && this.#giveUp();
    const end = PACKET_HEAD + this.#rest.readUInt16BE(2);
    if (this.#rest.length < end) return false;
    const packet: Packet = {
      kind: 'packet',
      channel: this.#rest.readUInt8(1),
      data: this.#rest.subarray(PACKET_HEAD, end),
    };
    this.#rest = this.#rest.subarray(end);
    this.#found(whole, packet);
    return true;
  }

  #readLine(): boolean {
    // Packets must not wait until one of them contains a line feed.
    if (this.#isUnderWay && !this.#mayBeLine()) return this.#giveUp();
    const end = this.#rest.indexOf(LINE_FEED);
    const length = end < 0 ? this.#rest.length : end + 1;
    if (this.#headBytes + length > this.limits.headBytes) return this.#giveUp();
    if (end < 0) return false;
    const line = this.#rest.toString('utf8', 0, end).replace(/\r$/, '');
    if (!this.#isLine(line)) return this.#giveUp();
    this.#rest = this.#rest.subarray(length);
    if (line === '') return this.#endHead();
    this.#lines.push(line);
    this.#headBytes += length;
    return true;
  }

  #mayBeLine(): boolean {
    const [first = 0] = this.#rest;
    return this.#lines.length > 0 || /[A-Z\r\n]/.test(String.fromCharCode(first));
  }

  #isLine(line: string): boolean {
    if (line === '') return true;
    if (CONTROL.test(line) || this.#lines.length >= this.limits.headLines) return false;
    return this.#lines.length > 0 || STATUS_LINE.test(line) || REQUEST_LINE.test(line);
  }

  #endHead(): boolean {
    // Blank lines between messages.
    if (this.#lines.length === 0) return true;
    const head = headOf(this.#lines);
    const length = head.headers.get('content-length') ?? '0';
    this.#lines = [];
    this.#headBytes = 0;
    if (!/^\d{1,15}$/.test(length) || Number(length) > this.limits.bodyBytes) return this.#giveUp(0);
    this.#head = { head, bodyBytes: Number(length) };
    return true;
  }

  #readBody({ head, bodyBytes }: { head: Head; bodyBytes: number }, whole: Incoming[]): boolean {
    if (this.#rest.length < bodyBytes) return false;
    const body = this.#rest.toString('utf8', 0, bodyBytes);
    this.#rest = this.#rest.subarray(bodyBytes);
    this.#head = undefined;
    this.#found(whole, head.kind === 'answer' ? { ...head, body } : head);
    return true;
  }

  #found(whole: Incoming[], incoming: Incoming): void {
    whole.push(incoming);
    this.#isUnderWay = this.#channels.size > 0;
    this.#passed = 0;
  }

  /** Skips bytes that begin neither a packet nor an answer. */
  #seek(): boolean {
    let at = 0;
    let isStart = this.#isStart(at);
    while (isStart === false && at < this.#rest.length) {
      at += 1;
      isStart = this.#isStart(at);
    }
    this.#pass(at);
    if (isStart === true) this.#isLost = false;
    return isStart === true && !this.isUnreadable;
  }

  /** Undefined where more bytes are needed. */
  #isStart(at: number): boolean | undefined {
    const first = this.#rest[at];
    if (first !== DOLLAR && first !== LETTER_R) return first === undefined ? undefined : false;
    const rest = this.#rest.subarray(at, at + STATUS_START_BYTES);
    if (first === LETTER_R)
      return rest.length < STATUS_START_BYTES ? undefined : STATUS_START.test(rest.toString('latin1'));
    const isPacket = isPacketOf(rest);
    return isPacket === true ? this.#channels.has(rest.readUInt8(1)) : isPacket;
  }

  #pass(bytes: number): void {
    this.#rest = this.#rest.subarray(bytes);
    this.#passed += bytes;
    if (this.#passed > MOST_PASSED) this.isUnreadable = true;
  }

  /** Stores these pieces and nothing else; a piece may be a part of the bytes stored before. */
  #keep(...pieces: readonly Buffer[]): Buffer {
    this.#buffer.length = 0;
    for (const piece of pieces) this.#buffer.append(piece);
    return this.#buffer.content();
  }

  /**
   * Out of sync: searches for the next packet once a stream is under way, else the input is unreadable.
   * @param bytes to skip at least
   */
  #giveUp(bytes = 1): boolean {
    this.#forgetHead();
    this.#isLost = this.#isUnderWay;
    if (!this.#isLost) this.isUnreadable = true;
    else this.#pass(bytes);
    return !this.isUnreadable;
  }

  #forget(): void {
    this.#rest = NOTHING;
    this.#forgetHead();
  }

  #forgetHead(): void {
    this.#lines = [];
    this.#headBytes = 0;
    this.#head = undefined;
  }
}

function headOf([start = '', ...lines]: readonly string[]): Head {
  const headers = new HeaderFields();
  for (const line of lines) {
    const colon = line.indexOf(':');
    // A line without a name is ignored.
    if (colon > 0) headers.add(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const status = STATUS_LINE.exec(start)?.[1];
  if (status !== undefined) return { kind: 'answer', status: Number(status), headers };
  return { kind: 'request', method: REQUEST_LINE.exec(start)?.[1] ?? '', headers };
}

/** Whether RTP or RTCP follows this head; undefined where more bytes are needed. */
function isPacketOf(bytes: Buffer): boolean | undefined {
  if (bytes.length <= PACKET_HEAD) return undefined;
  return bytes.readUInt16BE(2) >= LEAST_PACKET && bytes.readUInt8(PACKET_HEAD) >> 6 === VERSION;
}
