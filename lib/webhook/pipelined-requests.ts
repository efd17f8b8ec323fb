import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RoundRobin } from '../concurrency/fair-queue';
import { declaredLength, type RequestSource, type Senders } from './request';

/** Most unanswered requests of a connection on which nothing has been proven. */
export const MAX_UNANSWERED = 8;
const HEAD_END = '\r\n\r\n';
/**
 * Slices of a message that may end with what only looks like the end of a head, and shortest length of those behind them, in
 * bytes: line ends of a stranger must not make a slice each.
 */
const MOST_ENDS = 64;
const SHORTEST_SLICE = 128;
const NOTHING: Buffer = Buffer.alloc(0);
const CR = 0x0d;
const LF = 0x0a;
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

interface Pacing {
  /** Scheduler for a crowded connection, and the queue of its sender there. */
  turns: RoundRobin;
  key: string;
  /** Whether to read behind a proven request that is not answered: see `attend`. */
  readsAhead: boolean;
}

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
  #parser: object | null | undefined;
  #parse: Parse = () => undefined;
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  /** Requests to webhooks that are not answered; with `readsAhead`, without those that are proven. */
  readonly #awaited = new Set<IncomingMessage>();
  /** Bytes of the last request's body that are still to come. */
  #bodyLeft = 0;
  /** Bytes of the current slice that may belong to the body behind a head. */
  #behindHead = 0;
  /** Slices behind the last head that ended as a head does. */
  #ends = 0;
  /** The last bytes that were parsed, where the end of a head may have begun in them. */
  #tail = NOTHING;
  #unproven = 0;
  #isProven = false;
  #isCrowded = false;
  /** True while there are unread bytes. */
  #isWaiting = false;
  /** Permission to read the next slice of a crowded connection. */
  #turn: 'none' | 'asked' | 'given' = 'none';

  constructor(
    private readonly socket: ServerSocket,
    private readonly pacing: Pacing,
  ) {}

  /** Comes between the socket and the parser that a server has given it: again, where that is another one. */
  attach(parse: Parse): void {
    this.#parser = this.socket.parser;
    this.#parse = parse;
    this.socket.removeAllListeners('data');
    this.socket.on('data', this.#onData);
  }

  /** To be called at the end of each head. */
  headed(req: IncomingMessage): void {
    this.#ends = 0;
    this.#bodyLeft = Math.max(0, (declaredLength(req.headers) ?? 0) - this.#behindHead);
  }

  began(req: IncomingMessage): void {
    this.#awaited.add(req);
  }

  proven(req: IncomingMessage): void {
    this.#isProven = true;
    if (!this.pacing.readsAhead) return;
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
    // Nothing more is answered on a connection that ends.
    if (!this.#isWaiting || this.#isAwaiting || !this.socket.writable) return false;
    const isFlood = this.#isSuspect && this.#unproven >= MAX_UNANSWERED;
    const { turns, key } = this.pacing;
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
      const slice = this.#nextSlice(rest);
      rest = rest.subarray(slice.length);
      this.#turn = 'none';
      this.#parse(slice);
      if (this.socket.parser === this.#parser) continue;
      // Another owner has taken the connection over, and finds the following bytes in it. If it is handed back, they belong to
      // the same crowd.
      this.socket.off('data', this.#onData);
      this.#isWaiting = rest.length > 0;
      if (this.#isWaiting) this.socket.unshift(rest);
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
    const { turns, key } = this.pacing;
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
    if (this.socket._paused === true || this.socket.parser !== this.#parser) return;
    this.socket.read(Math.min(this.socket.readableLength, MOST_AT_ONCE));
    if (!this.#isWaiting && this.socket.parser === this.#parser) this.socket.resume();
  }

  /**
   * A slice ends with a body whose length is known, or with a head; also with what only looks like the end of a head, such as the
   * end of a body in chunks. So a fault in what follows a request is not found before that is dealt with.
   */
  #nextSlice(chunk: Buffer): Buffer {
    if (this.#bodyLeft > 0) {
      const body = chunk.subarray(0, this.#bodyLeft);
      this.#bodyLeft -= body.length;
      return body;
    }
    const isExact = this.#ends < MOST_ENDS;
    const end = endOfHead(this.#tail, chunk, isExact ? 0 : SHORTEST_SLICE);
    const slice = chunk.subarray(0, end);
    this.#behindHead = isExact ? 0 : slice.length;
    this.#tail = end === undefined ? lastOf(this.#tail, slice) : NOTHING;
    if (end !== undefined) this.#ends += 1;
    return slice;
  }
}

/**
 * @param before the last bytes, in which the end may have begun
 * @param least position before which only such an end is looked for
 * @returns the position in a chunk behind the first end of a head; undefined without one
 */
function endOfHead(before: Buffer, chunk: Buffer, least: number): number | undefined {
  const across = Buffer.concat([before, chunk.subarray(0, HEAD_END.length - 1)]).indexOf(HEAD_END);
  if (before.length > 0 && across >= 0) return across + HEAD_END.length - before.length;
  let begin = Math.max(0, least - HEAD_END.length);
  // The parser skips line ends in front of a head.
  if (before.length === 0) while (chunk[begin] === CR || chunk[begin] === LF) begin += 1;
  const at = chunk.indexOf(HEAD_END, begin);
  return at < 0 ? undefined : at + HEAD_END.length;
}

/** The bytes in which the end of a head may have begun. */
function lastOf(before: Buffer, slice: Buffer): Buffer {
  return Buffer.concat([before, slice.subarray(1 - HEAD_END.length)]).subarray(1 - HEAD_END.length);
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

  /**
   * Applies to new connections of the server.
   * @param readsAhead whether what stands behind a proven request is read before that is answered: only where the server keeps a
   * refusal of broken HTTP behind that answer. Node's default refusal, or that of somebody else, goes out at once, and the sender
   * would take it for the answer.
   */
  attend(server: Server, readsAhead: boolean): void {
    const accepted = (socket: ServerSocket): void => this.#accepted(socket, readsAhead);
    server.on('connection', accepted);
    // With TLS, requests come on these sockets; nothing is parsed on the TCP sockets below.
    server.on('secureConnection', accepted);
    server.on('request', (req) => this.#ofSocket.get(req.socket)?.headed(req));
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

  /** A request is proven: the requests behind it need not wait for turns, nor, with `readsAhead`, until it is stored. */
  proven(req: IncomingMessage): void {
    this.queues.proven(req);
    this.#ofSocket.get(req.socket)?.proven(req);
  }

  #accepted(socket: ServerSocket, readsAhead: boolean): void {
    const parse = parsedBy(socket);
    if (parse === undefined) return;
    this.#pipelineOf(socket, readsAhead).attach(parse);
  }

  /** A connection that is handed back to its server keeps its own, and what was refused on it. */
  #pipelineOf(socket: ServerSocket, readsAhead: boolean): Pipeline {
    const known = this.#ofSocket.get(socket);
    if (known !== undefined) return known;
    const { turns } = this;
    turns.come();
    const key = this.queues.of({ socket, headers: {} });
    const pipeline = new Pipeline(socket, { turns, key, readsAhead });
    this.#ofSocket.set(socket, pipeline);
    return pipeline;
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
