import { GrowingBuffer } from '../../bytes';
import type { StreamLimits } from './limits';

/** Headers of a message, by their names in small letters. */
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

/** What a server answers to a request (RFC 2326, section 7). */
export interface Answer {
  kind: 'answer';
  status: number;
  headers: HeaderFields;
  body: string;
}

/** What a server asks of its own accord (RFC 2326, section 6). */
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
/** Bytes between two packets that are passed over: more than the longest packet whose head is missing. */
const MOST_PASSED = 128 * 1024;
/** Bytes of the shortest packet: a report. */
const LEAST_PACKET = 8;
/** Of RTP and RTCP, the upper two bits of a packet. */
const VERSION = 2;
const LETTER_R = 0x52;
/** Bytes that are set aside for what is not whole, at first: as much as is read at a time. */
const FIRST_SIZE = 64 * 1024;

const STATUS_LINE = /^RTSP\/\d\.\d (\d{3})(?: |$)/;
const STATUS_START = /^RTSP\/\d\.\d \d{3}$/;
const STATUS_START_BYTES = 12;
const REQUEST_LINE = /^([A-Z_]{1,32}) \S+ RTSP\/\d\.\d$/;
/** A line of a message has none of these; what is sent back of a head cannot forge a line of ours. */
const CONTROL = /[^\t\P{Cc}]/u;

type Head = Omit<Answer, 'body'> | ServerRequest;

/**
 * Cuts the bytes of a relay into messages and packets, however they come. Packets may also stand between the lines of a head,
 * where some servers put them. Keeps no more than one head and one body. Some cameras leave bytes between packets, or cut one short:
 * then it goes on with the next packet, or answer.
 */
export class MessageParser {
  readonly #limits: StreamLimits;
  /** What was not read yet: of the bytes that are taken, or of those that were kept. */
  #rest: Buffer = NOTHING;
  /** Used again and again: a buffer for each read would be garbage by the megabyte. */
  readonly #kept = new GrowingBuffer(FIRST_SIZE);
  #lines: string[] = [];
  #headBytes = 0;
  #head: { head: Head; bodyBytes: number } | undefined;
  #isUnreadable = false;
  /** Those whose packets come. */
  readonly #channels = new Set<number>();
  /** Something whole has come since the channels are known. */
  #isUnderWay = false;
  /** What comes is neither a packet nor a message. */
  #isLost = false;
  /** Bytes that were passed over since. */
  #passed = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** From the next packet or message on, what is neither is passed over until there is a packet of one of these. */
  expect(channels: Iterable<number>): void {
    for (const channel of channels) this.#channels.add(channel);
  }

  /** Whether it has met what is no RTSP, or more of it than may be. From then on it reads nothing. */
  get isUnreadable(): boolean {
    return this.#isUnreadable;
  }

  /** Whether all that came is whole. */
  get isBetweenMessages(): boolean {
    const isWithin = this.#lines.length > 0 || this.#head !== undefined;
    return this.#isLost || (this.#rest.length === 0 && !isWithin);
  }

  /** Bytes that it keeps until more comes. */
  get keptBytes(): number {
    return this.#rest.length + this.#headBytes;
  }

  /**
   * Takes the next bytes and returns what is whole now. Never throws. The data of packets are not copied: they are good until the
   * caller reads on into the same memory, or pushes more.
   */
  push(chunk: Buffer): Incoming[] {
    if (this.#isUnreadable) return [];
    const isAtStart = this.#rest.length === 0;
    this.#rest = isAtStart ? chunk : this.#keep(this.#rest, chunk);
    const whole: Incoming[] = [];
    while (this.#readNext(whole));
    if (this.#isUnreadable) this.#forget();
    else if (isAtStart && this.#rest.length > 0) this.#rest = this.#keep(this.#rest);
    return whole;
  }

  /** @returns false where it takes more bytes to go on, or is at its end */
  #readNext(whole: Incoming[]): boolean {
    if (this.#rest.length === 0 && this.#head?.bodyBytes !== 0) return false;
    if (this.#isLost) return this.#seek();
    if (this.#head !== undefined) return this.#readBody(this.#head, whole);
    return this.#rest[0] === DOLLAR ? this.#readPacket(whole) : this.#readLine();
  }

  #readPacket(whole: Incoming[]): boolean {
    if (this.#rest.length < PACKET_HEAD) return false;
    // The length of what is none may be that of a picture.
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
    // Packets must not wait until there is a line feed among them.
    if (this.#isUnderWay && !this.#mayBeLine()) return this.#giveUp();
    const end = this.#rest.indexOf(LINE_FEED);
    const length = end < 0 ? this.#rest.length : end + 1;
    if (this.#headBytes + length > this.#limits.headBytes) return this.#giveUp();
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
    if (CONTROL.test(line) || this.#lines.length >= this.#limits.headLines) return false;
    return this.#lines.length > 0 || STATUS_LINE.test(line) || REQUEST_LINE.test(line);
  }

  #endHead(): boolean {
    // Blank lines between messages.
    if (this.#lines.length === 0) return true;
    const head = headOf(this.#lines);
    const length = head.headers.get('content-length') ?? '0';
    this.#lines = [];
    this.#headBytes = 0;
    if (!/^\d{1,15}$/.test(length) || Number(length) > this.#limits.bodyBytes) return this.#giveUp(0);
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

  /** Passes over what is neither a packet nor an answer. */
  #seek(): boolean {
    let at = 0;
    let isStart = this.#isStart(at);
    while (isStart === false && at < this.#rest.length) {
      at += 1;
      isStart = this.#isStart(at);
    }
    this.#pass(at);
    if (isStart === true) this.#isLost = false;
    return isStart === true && !this.#isUnreadable;
  }

  /** Undefined where it takes more bytes to tell. */
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
    if (this.#passed > MOST_PASSED) this.#isUnreadable = true;
  }

  /** Of what was kept before, only what is among these stays. */
  #keep(...pieces: readonly Buffer[]): Buffer {
    this.#kept.length = 0;
    for (const piece of pieces) this.#kept.append(piece);
    return this.#kept.content();
  }

  /** @param bytes that are passed over at least */
  #giveUp(bytes = 1): boolean {
    this.#forgetHead();
    this.#isLost = this.#isUnderWay;
    if (!this.#isLost) this.#isUnreadable = true;
    else this.#pass(bytes);
    return !this.#isUnreadable;
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
    // A line without a name says nothing that we need.
    if (colon > 0) headers.add(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const status = STATUS_LINE.exec(start)?.[1];
  if (status !== undefined) return { kind: 'answer', status: Number(status), headers };
  return { kind: 'request', method: REQUEST_LINE.exec(start)?.[1] ?? '', headers };
}

/** Whether RTP or RTCP stands behind this head; undefined where it takes more bytes to tell. */
function isPacketOf(bytes: Buffer): boolean | undefined {
  if (bytes.length <= PACKET_HEAD) return undefined;
  return bytes.readUInt16BE(2) >= LEAST_PACKET && bytes.readUInt8(PACKET_HEAD) >> 6 === VERSION;
}
