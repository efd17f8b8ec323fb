import { GrowingBuffer } from '../../../growing-buffer';
import type { StreamLimits } from '../limits';
import { HeaderFields, type Answer, type Incoming, type Packet, type ServerRequest } from './message';

const DOLLAR = 0x24;
const LINE_FEED = 0x0a;
const PACKET_HEAD = 4;
const NOTHING = Buffer.alloc(0);
/** Bytes that are set aside for what is not whole, at first: as much as is read at a time. */
const FIRST_SIZE = 64 * 1024;

const STATUS_LINE = /^RTSP\/\d\.\d (\d{3})(?: |$)/;
const REQUEST_LINE = /^([A-Z_]{1,32}) \S+ RTSP\/\d\.\d$/;
/** A line of a message has none of these; what is sent back of a head cannot forge a line of ours. */
const CONTROL = /[^\t\P{Cc}]/u;

type Head = Omit<Answer, 'body'> | ServerRequest;

/**
 * Cuts the bytes of a relay into messages and packets, however they come. Packets may also stand between the lines of a head,
 * where some servers put them. Keeps no more than one head and one body.
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

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Whether it has met what is no RTSP, or more of it than may be. From then on it reads nothing. */
  get isUnreadable(): boolean {
    return this.#isUnreadable;
  }

  /** Whether all that came is whole. */
  get isBetweenMessages(): boolean {
    return this.#rest.length === 0 && this.#lines.length === 0 && this.#head === undefined;
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
    if (this.#head !== undefined) return this.#readBody(this.#head, whole);
    return this.#rest[0] === DOLLAR ? this.#readPacket(whole) : this.#readLine();
  }

  #readPacket(whole: Incoming[]): boolean {
    if (this.#rest.length < PACKET_HEAD) return false;
    const end = PACKET_HEAD + this.#rest.readUInt16BE(2);
    if (this.#rest.length < end) return false;
    const packet: Packet = {
      kind: 'packet',
      channel: this.#rest.readUInt8(1),
      data: this.#rest.subarray(PACKET_HEAD, end),
    };
    this.#rest = this.#rest.subarray(end);
    whole.push(packet);
    return true;
  }

  #readLine(): boolean {
    const end = this.#rest.indexOf(LINE_FEED);
    const length = end < 0 ? this.#rest.length : end + 1;
    if (this.#headBytes + length > this.#limits.headBytes) return this.#giveUp();
    if (end < 0) return false;
    const line = this.#rest.toString('utf8', 0, end).replace(/\r$/, '');
    this.#rest = this.#rest.subarray(length);
    return line === '' ? this.#endHead() : this.#addLine(line, length);
  }

  #addLine(line: string, bytes: number): boolean {
    if (CONTROL.test(line) || this.#lines.length >= this.#limits.headLines) return this.#giveUp();
    if (this.#lines.length === 0 && !STATUS_LINE.test(line) && !REQUEST_LINE.test(line))
      return this.#giveUp();
    this.#lines.push(line);
    this.#headBytes += bytes;
    return true;
  }

  #endHead(): boolean {
    // Blank lines between messages.
    if (this.#lines.length === 0) return true;
    const head = headOf(this.#lines);
    const length = head.headers.get('content-length') ?? '0';
    this.#lines = [];
    this.#headBytes = 0;
    if (!/^\d{1,15}$/.test(length) || Number(length) > this.#limits.bodyBytes) return this.#giveUp();
    this.#head = { head, bodyBytes: Number(length) };
    return true;
  }

  #readBody({ head, bodyBytes }: { head: Head; bodyBytes: number }, whole: Incoming[]): boolean {
    if (this.#rest.length < bodyBytes) return false;
    const body = this.#rest.toString('utf8', 0, bodyBytes);
    this.#rest = this.#rest.subarray(bodyBytes);
    this.#head = undefined;
    whole.push(head.kind === 'answer' ? { ...head, body } : head);
    return true;
  }

  /** Of what was kept before, only what is among these stays. */
  #keep(...pieces: readonly Buffer[]): Buffer {
    this.#kept.length = 0;
    for (const piece of pieces) this.#kept.append(piece);
    return this.#kept.content();
  }

  #giveUp(): false {
    this.#isUnreadable = true;
    return false;
  }

  #forget(): void {
    this.#rest = NOTHING;
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
