import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RoundRobin } from '../concurrency/fair-queue';
import { declaredLength, type RequestSource, type Senders } from './request';

/** Requests of a connection that may be without an answer, while nothing on it has been proven. */
export const MAX_UNANSWERED = 8;
const HEAD_END = '\r\n\r\n';
/** Bytes of a slice where nobody knows how long a request is: a stranger's line ends must not make a slice of each. */
const SHORTEST_SLICE = 128;
/** Bytes taken out of the stream at a time, as many as Node reads of a socket: with all of them taken it would read on for each slice. */
const MOST_AT_ONCE = 64 * 1024;
/** What each head has once, and no event. */
const IN_A_HEAD = ' HTTP/1.';

/** A connection as a server of Node has it. */
interface ServerSocket extends Socket {
  /** Another one, or none, once the connection is no longer the server's. */
  parser?: object | null;
  /** Node itself has ceased to read, until answers have left. */
  _paused?: boolean;
}

type Parse = (chunk: Buffer) => void;

/** What parses the bytes of a connection, as a server of Node has just set it up; undefined where that is nothing we know. */
function parsedBy(socket: ServerSocket): Parse | undefined {
  const [parse, ...others] = socket.listeners('data');
  if (parse === undefined || others.length > 0 || !socket.parser) return undefined;
  return (chunk) => void parse.call(socket, chunk);
}

/**
 * One connection, whose bytes go to the parser slice by slice. Where more than eight requests came that did not wait for an answer, and
 * nothing has been proven, each slice has to wait until nobody else has anything to do; with eight of them unproven it is cut.
 */
class Pipeline {
  readonly #parser: object | null | undefined;
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  /** Requests that are neither judged nor answered. */
  readonly #awaited = new Set<IncomingMessage>();
  /** Bytes of the body of the last request that are still to come. */
  #bodyLeft = 0;
  /** Bytes of the slice that is being parsed which may be of a body; outside of that nobody can tell. */
  #behindHead = Infinity;
  #unproven = 0;
  #isProven = false;
  #isCrowded = false;
  /** Something has come that is not read. */
  #isWaiting = false;
  /** Of one that is crowded. */
  #turn: 'none' | 'asked' | 'given' = 'none';

  /** @param how what parses it, and when that may be where it is crowded */
  constructor(
    private readonly socket: ServerSocket,
    private readonly how: { parse: Parse; turns: RoundRobin; line: string },
  ) {
    this.#parser = socket.parser;
    socket.removeAllListeners('data');
    socket.on('data', this.#onData);
  }

  began(req: IncomingMessage): void {
    this.#awaited.add(req);
    this.#bodyLeft = Math.max(0, (declaredLength(req.headers) ?? 0) - this.#behindHead);
  }

  proven(req: IncomingMessage): void {
    this.#isProven = true;
    this.#awaited.delete(req);
    if (this.#isWaiting) this.#readOn();
  }

  /**
   * To be called when a request has its answer, or will have none.
   * @returns true where the connection was cut for it
   */
  answered(req: IncomingMessage): boolean {
    if (!this.#awaited.delete(req)) return false;
    this.#unproven += 1;
    if (!this.#isWaiting || this.#isAwaiting || this.socket.destroyed) return false;
    const isFlood = this.#isSuspect && this.#unproven >= MAX_UNANSWERED;
    const { turns, line } = this.how;
    if (isFlood) this.socket.destroy();
    else if (this.#isSuspect) this.#askForTurn();
    else turns.run(line, () => this.#readOn());
    return isFlood;
  }

  /** One that has come in whole; of another the rest is still to be read. */
  get #isAwaiting(): boolean {
    for (const { complete } of this.#awaited) if (complete) return true;
    return false;
  }

  get #isSuspect(): boolean {
    return this.#isCrowded && !this.#isProven;
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    // All of before has been read and answered: this is no part of a crowd.
    if (!this.#isWaiting && this.#awaited.size === 0) {
      this.#isCrowded = false;
      this.#unproven = 0;
    }
    while (rest.length > 0 && !this.socket.destroyed) {
      this.#isWaiting = this.#hasToWait(rest);
      if (this.#isWaiting) {
        this.socket.pause();
        this.socket.unshift(rest);
        return;
      }
      const slice = rest.subarray(0, this.#sliceOf(rest));
      rest = rest.subarray(slice.length);
      this.#bodyLeft = Math.max(0, this.#bodyLeft - slice.length);
      this.#turn = 'none';
      const head = slice.indexOf(HEAD_END);
      this.#behindHead = slice.length - (head < 0 ? 0 : head + HEAD_END.length);
      this.how.parse(slice);
      this.#behindHead = Infinity;
      if (this.socket.parser === this.#parser) continue;
      // Whoever has taken the connection over finds in it what follows.
      this.socket.off('data', this.#onData);
      if (rest.length > 0) this.socket.unshift(rest);
      return;
    }
  }

  #hasToWait(rest: Buffer): boolean {
    if (this.socket._paused === true) return true;
    // Of a body it takes the rest, whatever waits.
    if (this.#bodyLeft > 0) return false;
    if (!this.#isProven) this.#isCrowded ||= this.#awaited.size + headsIn(rest) > MAX_UNANSWERED;
    if (this.#isAwaiting) return true;
    if (!this.#isSuspect || this.#turn === 'given') return false;
    this.#askForTurn();
    return true;
  }

  #askForTurn(): void {
    if (this.#turn !== 'none') return;
    this.#turn = 'asked';
    const { turns, line } = this.how;
    turns.runLast(line, () => {
      this.#turn = 'given';
      this.#readOn();
    });
  }

  /** At once, so that it is in this turn that it takes its time. Where Node has ceased to read, that goes on by itself. */
  #readOn(): void {
    if (this.socket._paused === true) return;
    this.socket.read(Math.min(this.socket.readableLength, MOST_AT_ONCE));
    if (!this.#isWaiting && this.socket.parser === this.#parser) this.socket.resume();
  }

  /** Up to the end of a body whose length is known, else to that of a head. */
  #sliceOf(chunk: Buffer): number {
    if (this.#bodyLeft > 0) return Math.min(this.#bodyLeft, chunk.length);
    const end = chunk.indexOf(HEAD_END, SHORTEST_SLICE - HEAD_END.length);
    return end < 0 ? chunk.length : end + HEAD_END.length;
  }
}

/** How many requests begin in bytes, or one more than may be. */
function headsIn(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(IN_A_HEAD); at >= 0 && count <= MAX_UNANSWERED; count += 1)
    at = chunk.indexOf(IN_A_HEAD, at + IN_A_HEAD.length);
  return count;
}

/**
 * Reads the requests to webhooks one by one. Node's server parses all that has come of a connection at once, and a stranger who
 * sends hundreds of tiny requests behind one another would have the main thread for as long as all of them take. So its parser gets
 * slices of about one request, and none while a request to a webhook is not judged: what follows waits in the stream, and when that
 * is full, at the sender. What is not for a webhook waits for nothing.
 */
export class Pipelines {
  readonly #ofSocket = new WeakMap<object, Pipeline>();

  /** @param onCut told of each connection that is cut */
  constructor(
    private readonly lines: SenderLines,
    private readonly turns: RoundRobin,
    private readonly onCut: () => void,
  ) {}

  /** For connections that come from now on. */
  attend(server: Server): void {
    const accepted = (socket: ServerSocket): void => this.#accepted(socket);
    server.on('connection', accepted);
    // With TLS these are what requests come on; of the others nothing is parsed.
    server.on('secureConnection', accepted);
  }

  /** Takes note of a request, behind which nothing is read until it is judged or answered. */
  began(req: IncomingMessage, res: ServerResponse): void {
    const pipeline = this.#ofSocket.get(req.socket);
    if (pipeline === undefined) return;
    pipeline.began(req);
    res.once('close', () => {
      if (pipeline.answered(req)) this.onCut();
    });
  }

  /** A request is proven: what comes behind it need not wait until it is stored. */
  proven(req: IncomingMessage): void {
    this.lines.proven(req);
    this.#ofSocket.get(req.socket)?.proven(req);
  }

  #accepted(socket: ServerSocket): void {
    const parse = parsedBy(socket);
    if (parse === undefined) return;
    const { turns } = this;
    turns.come();
    const source = { socket, headers: {} };
    this.#ofSocket.set(socket, new Pipeline(socket, { parse, turns, line: this.lines.of(source) }));
  }
}

/** How long it counts that an address has proven something, in milliseconds: as long as the service sends again. */
const COUNTS_FOR = 24 * 60 * 60 * 1000;
/** Addresses kept; beyond it the one that proved something longest ago is forgotten. */
const MAX_ADDRESSES = 1000;

/**
 * In which line a request waits for its turn: that of its address, so that a stranger's many connections count as one. Behind an
 * address that many share, as that of a proxy, and at one that has proven something, each connection is a line of its own: one turn for all of
 * them would be too little for a burst of alarms.
 */
export class SenderLines {
  /** Addresses that have proven something, and when: the latest last. */
  readonly #proven = new Map<string, number>();

  /** @param steady milliseconds of a clock that never jumps */
  constructor(
    private readonly senders: Senders,
    private readonly steady: () => number,
  ) {}

  of(req: RequestSource): string {
    const address = this.senders.addressOf(req);
    // The peer has gone: what is left of it is no crowd.
    if (address === undefined) return '';
    const isByConnection = this.senders.isShared(address) || this.#hasProven(address);
    return isByConnection ? `${address} ${req.socket.remotePort}` : address;
  }

  /** Notes that the sender of a request has proven it. */
  proven(req: RequestSource): void {
    const address = this.senders.addressOf(req);
    if (address === undefined || this.senders.isShared(address)) return;
    this.#proven.delete(address);
    this.#proven.set(address, this.steady());
    const [oldest] = this.#proven.keys();
    if (this.#proven.size > MAX_ADDRESSES && oldest !== undefined) this.#proven.delete(oldest);
  }

  #hasProven(address: string): boolean {
    const at = this.#proven.get(address);
    return at !== undefined && this.steady() - at < COUNTS_FOR;
  }
}
