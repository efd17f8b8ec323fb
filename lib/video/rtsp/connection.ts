import type { Socket } from 'node:net';
import { lateTimeout } from '../../concurrency/timers';
import type { RvmError } from '../../error';
import type { StreamLimits } from './limits';
import { MessageParser } from './protocol/message-parser';
import type { Answer, Incoming, ServerRequest } from './protocol/message';
import type { RelayFaults } from './relay-faults';

/** Bytes that wait for a relay to read them: one that reads nothing gets no more. */
const MOST_UNREAD = 64 * 1024;
/** Bytes of packets that may come before somebody listens. */
const MOST_EARLY = 1024 * 1024;
/** Bytes that each of them takes beside its data. */
const EARLY_COST = 256;
/** What a server may ask us to find out whether we are there. */
const SIGNS_OF_LIFE: readonly string[] = ['OPTIONS', 'GET_PARAMETER'];

export interface Listener {
  /** @param data good until it returns */
  packet: (channel: number, data: Buffer) => void;
  /** @param inOrder whether the server closed it, and nothing is cut off */
  ended: (fault: RvmError, inOrder: boolean) => void;
}

interface Pending {
  resolve: (answer: Answer) => void;
  reject: (error: RvmError) => void;
  timer: NodeJS.Timeout;
}

interface Ending {
  fault: RvmError;
  inOrder: boolean;
}

/** One RTSP connection: requests with their answers, and the packets between them. Nothing that comes makes it throw. */
export class Connection {
  readonly #socket: Socket;
  readonly #limits: StreamLimits;
  readonly #faults: RelayFaults;
  readonly #parser: MessageParser;
  readonly #pending = new Map<number, Pending>();
  #lastNumber = 0;
  #listener: Listener | undefined;
  #early: { channel: number; data: Buffer }[] = [];
  #earlyBytes = 0;
  #ending: Ending | undefined;

  /** @param socket that is connected */
  constructor(socket: Socket, limits: StreamLimits, faults: RelayFaults) {
    this.#socket = socket;
    this.#limits = limits;
    this.#faults = faults;
    this.#parser = new MessageParser(limits);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('end', () => this.#end(faults.brokenOff(), this.#parser.isBetweenMessages));
    socket.on('error', () => this.#end(faults.brokenOff()));
    socket.on('close', () => this.#end(faults.brokenOff()));
  }

  /** Tells of all packets, those that came before included, and of the end. One may listen. */
  listen(listener: Listener): void {
    this.#listener = listener;
    for (const { channel, data } of this.#early.splice(0)) listener.packet(channel, data);
    if (this.#ending !== undefined) listener.ended(this.#ending.fault, this.#ending.inOrder);
  }

  /** Channels whose packets will come, among which the relay may leave bytes that are none. */
  expect(channels: Iterable<number>): void {
    this.#parser.expect(channels);
  }

  /**
   * Sends a request, and waits for its answer. What has ended still sends it if it can, for TEARDOWN.
   * @param headers beyond `CSeq`
   * @param ms that the answer may take
   * @throws RvmError as the faults have it: no answer in time, none that can be read, the end of the connection
   */
  request(
    method: string,
    url: string,
    headers: Readonly<Record<string, string>>,
    ms = this.#limits.answerMs,
  ): Promise<Answer> {
    const number = ++this.#lastNumber;
    const lines = Object.entries({ CSeq: String(number), ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    return new Promise((resolve, reject) => {
      this.#send(`${method} ${url} RTSP/1.0\r\n${lines.join('')}\r\n`);
      if (this.#ending !== undefined) return reject(this.#ending.fault);
      const timer = lateTimeout(() => {
        this.#pending.delete(number);
        reject(this.#faults.unanswered());
      }, ms);
      this.#pending.set(number, { resolve, reject, timer });
    });
  }

  /** Sends binary data; leaves it out where the relay does not read what was sent before. */
  sendPacket(channel: number, data: Buffer): void {
    if (this.#socket.writableLength > MOST_UNREAD) return;
    this.#send(Buffer.concat([Buffer.from([0x24, channel, data.length >>> 8, data.length & 0xff]), data]));
  }

  /** Nothing is read until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends it at once. What waits for answers fails. */
  destroy(): void {
    this.#socket.destroy();
    this.#end(this.#faults.brokenOff());
  }

  #send(data: string | Buffer): void {
    if (this.#socket.writable) this.#socket.write(data);
  }

  #take(chunk: Buffer): void {
    if (this.#ending !== undefined) return;
    for (const incoming of this.#parser.push(chunk)) this.#handle(incoming);
    const isFlooded = this.#earlyBytes > MOST_EARLY || this.#socket.writableLength > 2 * MOST_UNREAD;
    if (this.#parser.isUnreadable || isFlooded) this.#end(this.#faults.unreadable());
  }

  #handle(incoming: Incoming): void {
    if (incoming.kind === 'answer') return this.#settle(incoming);
    if (incoming.kind === 'request') return this.#reply(incoming);
    const { channel, data } = incoming;
    if (this.#listener !== undefined) return this.#listener.packet(channel, data);
    // A copy: a packet is part of a larger read of the socket, which it would keep.
    this.#early.push({ channel, data: Buffer.from(data) });
    this.#earlyBytes += data.length + EARLY_COST;
  }

  #settle(answer: Answer): void {
    // 1xx: the answer is still to come.
    if (answer.status < 200) return;
    const number = this.#numberOf(answer);
    const pending = number === undefined ? undefined : this.#pending.get(number);
    // Packets come, and are what is wanted: an answer with a wrong number ends nothing.
    if (number === undefined || number > this.#lastNumber)
      return this.#listener === undefined ? this.#end(this.#faults.unreadable()) : undefined;
    // That of a request which nobody waits for any more.
    if (pending === undefined) return;
    this.#pending.delete(number);
    clearTimeout(pending.timer);
    pending.resolve(answer);
  }

  /** Without a number it answers the request that has waited for the longest time. */
  #numberOf({ headers }: Answer): number | undefined {
    const said = headers.get('cseq');
    if (said === undefined) return [...this.#pending.keys()][0] ?? 0;
    return /^\d{1,15}$/.test(said) ? Number(said) : undefined;
  }

  #reply({ method, headers }: ServerRequest): void {
    const number = headers.get('cseq');
    const status = SIGNS_OF_LIFE.includes(method) ? '200 OK' : '501 Not Implemented';
    const lines = number === undefined ? '' : `CSeq: ${number}\r\n`;
    this.#send(`RTSP/1.0 ${status}\r\n${lines}\r\n`);
  }

  /** Only the first end counts. The socket stays open for a last word. */
  #end(fault: RvmError, inOrder = false): void {
    if (this.#ending !== undefined) return;
    this.#ending = { fault, inOrder };
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(fault);
    }
    this.#pending.clear();
    this.#listener?.ended(fault, inOrder);
  }
}
