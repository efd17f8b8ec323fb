import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RoundRobin } from '../concurrency/fair-queue';
import { declaredLength, type RequestSource, type Senders } from './request';

/** Most unanswered requests of a connection on which nothing has been proven. */
export const MAX_UNANSWERED = 8;
const HEAD_END = '\r\n\r\n';
/** Shortest slice, in bytes, where the length of a request is unknown: line ends of a stranger must not make a slice each. */
const SHORTEST_SLICE = 128;
/**
 * Most bytes taken out of the stream at a time: as many as Node reads from a socket. If all were taken, Node would read on for
 * each slice.
 */
const MOST_AT_ONCE = 64 * 1024;
/** Occurs once in each head, and in no event. */
const IN_A_HEAD = ' HTTP/1.';

/** A connection with the internal fields that a server of Node sets. */
interface ServerSocket extends Socket {
  /** Another parser, or none, once the server no longer owns the connection. */
  parser?: object | null;
  /** True while Node itself has stopped reading, until responses have been sent. */
  _paused?: boolean;
}

type Parse = (chunk: Buffer) => void;

/** The parser callback that a server of Node has set up for a connection; undefined where the set-up is not as expected. */
function parsedBy(socket: ServerSocket): Parse | undefined {
  const [parse, ...others] = socket.listeners('data');
  if (parse === undefined || others.length > 0 || !socket.parser) return undefined;
  return (chunk) => void parse.call(socket, chunk);
}

/**
 * One connection, whose bytes are passed to the parser slice by slice. Where more than eight requests came without waiting for
 * answers and nothing has been proven, each slice waits until the process has nothing else to do. After eight unproven requests
 * the connection is cut.
 */
class Pipeline {
  readonly #parser: object | null | undefined;
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  /** Requests that are neither judged nor answered. */
  readonly #awaited = new Set<IncomingMessage>();
  /** Bytes of the last request's body that are still to come. */
  #bodyLeft = 0;
  /** Bytes of the current slice that may belong to a body; only known while the slice is parsed. */
  #behindHead = Infinity;
  #unproven = 0;
  #isProven = false;
  #isCrowded = false;
  /** True while there are unread bytes. */
  #isWaiting = false;
  /** Permission to read the next slice of a crowded connection. */
  #turn: 'none' | 'asked' | 'given' = 'none';

  /** @param how the parser callback, and the scheduler for a crowded connection */
  constructor(
    private readonly socket: ServerSocket,
    private readonly how: { parse: Parse; turns: RoundRobin; key: string },
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
   * To be called when a request was answered, or never will be.
   * @returns true where the connection was cut because of it
   */
  answered(req: IncomingMessage): boolean {
    if (!this.#awaited.delete(req)) return false;
    this.#unproven += 1;
    if (!this.#isWaiting || this.#isAwaiting || this.socket.destroyed) return false;
    const isFlood = this.#isSuspect && this.#unproven >= MAX_UNANSWERED;
    const { turns, key } = this.how;
    if (isFlood) this.socket.destroy();
    else if (this.#isSuspect) this.#askForTurn();
    else turns.run(key, () => this.#readOn());
    return isFlood;
  }

  /** Only a complete request counts; the rest of any other is still to be read. */
  get #isAwaiting(): boolean {
    for (const { complete } of this.#awaited) if (complete) return true;
    return false;
  }

  get #isSuspect(): boolean {
    return this.#isCrowded && !this.#isProven;
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    // All former requests were read and answered, so this one is not part of a crowd.
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
      // Another owner has taken the connection over, and finds the following bytes in it.
      this.socket.off('data', this.#onData);
      if (rest.length > 0) this.socket.unshift(rest);
      return;
    }
  }

  #hasToWait(rest: Buffer): boolean {
    if (this.socket._paused === true) return true;
    // The rest of a body is always read.
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
    const { turns, key } = this.how;
    turns.runLast(key, () => {
      this.#turn = 'given';
      this.#readOn();
    });
  }

  /**
   * Reads at once, so that the time counts in this turn of the event loop. Where Node has stopped reading, it resumes by
   * itself.
   */
  #readOn(): void {
    if (this.socket._paused === true) return;
    this.socket.read(Math.min(this.socket.readableLength, MOST_AT_ONCE));
    if (!this.#isWaiting && this.socket.parser === this.#parser) this.socket.resume();
  }

  /** A slice ends at the end of a body whose length is known, else at the end of a head. */
  #sliceOf(chunk: Buffer): number {
    if (this.#bodyLeft > 0) return Math.min(this.#bodyLeft, chunk.length);
    const end = chunk.indexOf(HEAD_END, SHORTEST_SLICE - HEAD_END.length);
    return end < 0 ? chunk.length : end + HEAD_END.length;
  }
}

/** Counts the requests that begin in a chunk, up to one more than allowed. */
function headsIn(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(IN_A_HEAD); at >= 0 && count <= MAX_UNANSWERED; count += 1)
    at = chunk.indexOf(IN_A_HEAD, at + IN_A_HEAD.length);
  return count;
}

/**
 * Reads the requests to webhooks one by one. Node's server parses at once everything that has come on a connection, so a
 * stranger who sends hundreds of tiny requests in a row would occupy the main thread until all of them are done. Here the
 * parser gets slices of about one request, and none while a request to a webhook is not judged; what follows waits in the
 * stream and, when that is full, at the sender. Requests that are not for a webhook do not wait.
 */
export class Pipelines {
  readonly #ofSocket = new WeakMap<object, Pipeline>();

  /** @param onCut called for each connection that is cut */
  constructor(
    private readonly queues: SenderQueues,
    private readonly turns: RoundRobin,
    private readonly onCut: () => void,
  ) {}

  /** Applies to new connections of the server. */
  attend(server: Server): void {
    const accepted = (socket: ServerSocket): void => this.#accepted(socket);
    server.on('connection', accepted);
    // With TLS, requests come on these sockets; nothing is parsed on the TCP sockets below.
    server.on('secureConnection', accepted);
  }

  /** Registers a request. Nothing behind it is read until it is judged or answered. */
  began(req: IncomingMessage, res: ServerResponse): void {
    const pipeline = this.#ofSocket.get(req.socket);
    if (pipeline === undefined) return;
    pipeline.began(req);
    res.once('close', () => {
      if (pipeline.answered(req)) this.onCut();
    });
  }

  /** A request is proven: the requests behind it need not wait until it is stored. */
  proven(req: IncomingMessage): void {
    this.queues.proven(req);
    this.#ofSocket.get(req.socket)?.proven(req);
  }

  #accepted(socket: ServerSocket): void {
    const parse = parsedBy(socket);
    if (parse === undefined) return;
    const { turns } = this;
    turns.come();
    const source = { socket, headers: {} };
    this.#ofSocket.set(socket, new Pipeline(socket, { parse, turns, key: this.queues.of(source) }));
  }
}

/** How long an address counts as one that has proven something, in milliseconds: as long as the service resends. */
const COUNTS_FOR = 24 * 60 * 60 * 1000;
/** Addresses remembered; beyond this number the address that proved something longest ago is forgotten. */
const MAX_ADDRESSES = 1000;

/**
 * Selects the queue of a request: normally that of its address, so that many connections of a stranger count as one. Behind a
 * shared address, such as a proxy's, and at an address that has proven something, each connection has a queue of its own: one
 * queue for all of them would be too slow for a burst of alarms.
 */
export class SenderQueues {
  /** Addresses that have proven something, with the time of the last proof; the latest is last. */
  readonly #proven = new Map<string, number>();

  /** @param monotonic monotonic clock, in milliseconds */
  constructor(
    private readonly senders: Senders,
    private readonly monotonic: () => number,
  ) {}

  of(req: RequestSource): string {
    const address = this.senders.addressOf(req);
    // The peer has gone: what is left of its requests is no crowd.
    if (address === undefined) return '';
    const isByConnection = this.senders.isShared(address) || this.#hasProven(address);
    return isByConnection ? `${address} ${req.socket.remotePort}` : address;
  }

  /** Records that the sender of a request has proven it. */
  proven(req: RequestSource): void {
    const address = this.senders.addressOf(req);
    if (address === undefined || this.senders.isShared(address)) return;
    this.#proven.delete(address);
    this.#proven.set(address, this.monotonic());
    const [oldest] = this.#proven.keys();
    if (this.#proven.size > MAX_ADDRESSES && oldest !== undefined) this.#proven.delete(oldest);
  }

  #hasProven(address: string): boolean {
    const at = this.#proven.get(address);
    return at !== undefined && this.monotonic() - at < COUNTS_FOR;
  }
}
