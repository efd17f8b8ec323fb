import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import type { AnswerFault, RtspFault } from './faults';
import type { Grant, GrantRequest } from './grants';
import { type EffectiveOptions, type RtspServerOptions, withDefaults } from './options';
import {
  formatResponse,
  type Incoming,
  ProtocolError,
  RequestParser,
  resetSocket,
  type RtspRequest,
} from './protocol';
import { type Peer, type Reply, RtspService } from './service';
import type { RtspServerSession } from './session';

export type { RtspFault } from './faults';
export type { GrantRequest } from './grants';
export type { RtspServerOptions } from './options';

/**
 * The RTSP server of the sandbox: plays the recorded fixture, live or from a moment on, to players with a
 * one-time URL. It listens where it is told, on loopback in the sandbox.
 */
export class RtspServer {
  readonly port: number;
  /** Base URL, such as `rtsp://127.0.0.1:8554`. */
  readonly url: string;
  readonly #listener: Server;
  readonly #service: RtspService;
  readonly #connections = new Set<RtspServerConnection>();
  readonly #sockets = new Set<Socket>();
  readonly #steady: () => number;
  readonly #maxConnections: number;
  readonly #sweep: NodeJS.Timeout;

  private constructor(listener: Server, options: EffectiveOptions) {
    const { sessionTimeoutSeconds: timeout } = options;
    this.#listener = listener;
    this.#steady = options.steady;
    this.#maxConnections = options.maxConnections;
    this.port = portOf(listener);
    this.url = `${scheme(options)}://${urlHost(options.host)}:${this.port}`;
    this.#service = new RtspService(options, (grant) => this.#urlOf(grant, options));
    listener.on('connection', (socket: Socket) => this.#track(socket));
    listener.on(options.tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      if (!socket.destroyed) this.#serve(socket);
    });
    // Such as too many open files: the connection is lost, the server goes on.
    listener.on('error', () => undefined);
    this.#sweep = setInterval(() => this.#endSilent(timeout), Math.min(1000, timeout * 250));
  }

  /** Listens; fails where the port is taken and no other may be used. */
  static async start(options: RtspServerOptions): Promise<RtspServer> {
    const effective = withDefaults(options);
    return new RtspServer(await listen(effective), effective);
  }

  /** RTSP sessions that exist now. */
  get sessionCount(): number {
    return this.#service.sessions.count;
  }

  /** RTSP sessions that have been opened since the start. */
  get openedCount(): number {
    return this.#service.sessions.opened;
  }

  /** Connections that are open now, with a session or without. */
  get connectionCount(): number {
    return this.#sockets.size;
  }

  /**
   * One-time RTSP URL: good for one session. Before its first PLAY it expires after 300 s of `now()`.
   * `start` = epoch milliseconds of recorded video, absent = live. The URL is a secret as a whole.
   */
  grant(request: GrantRequest): string {
    return this.#service.grant(request);
  }

  /** Switches a fault on, beside those already on. */
  setFault(fault: RtspFault): void {
    this.#service.faults.add(fault);
  }

  /** Switches all faults off; what a fault has done to a stream already stays. */
  clearFaults(): void {
    this.#service.faults.clear();
  }

  /** Ends every session and connection and frees all ports. May be called more than once. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    this.#service.sessions.endAll();
    const closed = this.#listener.listening ? once(this.#listener, 'close') : undefined;
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  // Encrypted connections are known here before their handshake, so that none can outlive the server.
  #track(socket: Socket): void {
    if (this.#sockets.size >= this.#maxConnections && !this.#makeRoom()) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Who plays keeps his place; who only holds one makes room, before others one who has not even shaken hands. False where all play. */
  #makeRoom(): boolean {
    const served = new Set([...this.#connections].map(({ socket }) => peerOf(socket)));
    const [silent] = [...this.#sockets].filter((socket) => !served.has(peerOf(socket)));
    if (silent !== undefined) {
      silent.destroy();
      return this.#sockets.delete(silent);
    }
    const idle = [...this.#connections].filter((connection) => connection.idleFor(0));
    const [longest] = idle.toSorted((one, other) => one.lastSign - other.lastSign);
    if (longest === undefined) return false;
    longest.close();
    this.#connections.delete(longest);
    this.#sockets.delete(longest.socket);
    return true;
  }

  #serve(socket: Socket): void {
    const connection = new RtspServerConnection(socket, this.#service, this.#steady);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
  }

  #endSilent(timeout: number): void {
    this.#service.sessions.endSilent();
    for (const connection of this.#connections) if (connection.idleFor(2 * timeout)) connection.close();
  }

  #urlOf(grant: Grant, options: EffectiveOptions): string {
    const { authentication } = options;
    const path = this.#service.grants.pathOf(grant);
    if (authentication === undefined) return `${this.url}${path}`;
    const [user, password] = [authentication.username, authentication.password].map(encodeURIComponent);
    return `${scheme(options)}://${user}:${password}@${urlHost(options.host)}:${this.port}${path}`;
  }
}

/** The same for a connection and what is encrypted over it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

async function listen(options: EffectiveOptions): Promise<Server> {
  try {
    return await listenAt(options, options.port);
  } catch (error) {
    if (!options.fallbackToFreePort || options.port === 0) throw error;
    return listenAt(options, 0);
  }
}

async function listenAt({ host, tls }: EffectiveOptions, port: number): Promise<Server> {
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  return server;
}

function portOf(listener: Server): number {
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('The RTSP server does not listen.');
  return address.port;
}

function scheme({ tls }: EffectiveOptions): 'rtsp' | 'rtsps' {
  return tls === undefined ? 'rtsp' : 'rtsps';
}

// A wildcard is a place to listen at, not one to connect to.
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** A client that sends ahead of its answers is given up beyond this many requests. */
const MAX_WAITING_REQUESTS = 64;
/** A client that asks and never reads its answers is given up beyond this. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
const OVERSIZE_LENGTH = 4 * 1024 * 1024 * 1024;

/** Faults that change the text of an answer. */
const SPOIL: Partial<Record<AnswerFault['kind'], (answer: string) => string>> = {
  garbage: (answer) => answer.replace(/^.*/, '\u0007!? 2OO yes'),
  'wrong-cseq': (answer) => answer.replace(/^CSeq: \d+/m, 'CSeq: 4294967295'),
  'no-content-length': (answer) => answer.replace(/Content-Length: \d+\r\n/, ''),
  'oversize-content-length': (answer) => answer.replace(/(Content-Length: )\d+/, `$1${OVERSIZE_LENGTH}`),
};

/** One RTSP connection: requests in their order, answers with their `CSeq`, and the sessions it carries. */
class RtspServerConnection implements Peer {
  readonly socket: Socket;
  readonly #service: RtspService;
  readonly #parser = new RequestParser();
  readonly #ended = new AbortController();
  readonly #channels = new Map<number, RtspServerSession>();
  readonly #waiting: RtspRequest[] = [];
  #busy = false;
  readonly #steady: () => number;
  #lastSign: number;

  /** `steady` = milliseconds of a clock that never jumps. */
  constructor(socket: Socket, service: RtspService, steady: () => number) {
    this.socket = socket;
    this.#service = service;
    this.#steady = steady;
    this.#lastSign = steady();
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end());
  }

  /** True where the client has asked nothing for `seconds` and the connection carries no stream. */
  idleFor(seconds: number): boolean {
    return this.#channels.size === 0 && this.#steady() - this.#lastSign > seconds * 1000;
  }

  /** When the client has last asked for something, by the steady clock. */
  get lastSign(): number {
    return this.#lastSign;
  }

  close(): void {
    this.socket.destroy();
  }

  carry(session: RtspServerSession, channels: readonly [number, number]): void {
    if (this.socket.destroyed) session.end();
    for (const channel of channels) this.#channels.set(channel, session);
    session.whenEnded(() => this.#release(session));
  }

  freeChannels(wanted?: readonly [number, number]): readonly [number, number] {
    if (wanted !== undefined && wanted.every((channel) => !this.#channels.has(channel))) return wanted;
    let first = 0;
    while (first < 254 && (this.#channels.has(first) || this.#channels.has(first + 1))) first += 2;
    return [first, first + 1];
  }

  #release(session: RtspServerSession): void {
    for (const [channel, carried] of this.#channels) if (carried === session) this.#channels.delete(channel);
  }

  #take(chunk: Buffer): void {
    try {
      for (const incoming of this.#parser.push(chunk)) this.#accept(incoming);
    } catch (error) {
      this.#refuse(error instanceof ProtocolError ? error.status : 500);
      return;
    }
    if (this.#waiting.length > MAX_WAITING_REQUESTS) this.socket.destroy();
    else if (!this.#busy) void this.#work();
  }

  #accept(incoming: Incoming): void {
    if (incoming.kind === 'interleaved') {
      this.#channels.get(incoming.channel)?.touch();
      return;
    }
    this.#lastSign = this.#steady();
    this.#waiting.push(incoming);
  }

  #refuse(status: number): void {
    this.socket.removeAllListeners('data');
    this.socket.end(formatResponse({ status, headers: { Connection: 'close' } }, undefined));
    // The rest of what the client says is not read: without this the connection would wait for its end.
    this.socket.destroySoon();
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (let request = this.#waiting.shift(); request !== undefined; request = this.#waiting.shift()) {
      const reply = await this.#service.answer(request, this).catch(() => internalError());
      await this.#send(request, reply).catch(() => this.socket.destroy());
    }
    this.#busy = false;
  }

  async #send(request: RtspRequest, { response, faults }: Reply): Promise<void> {
    for (const fault of faults) {
      if (fault.kind === 'silent') return;
      if (fault.kind === 'slow') await delay(fault.ms, undefined, { signal: this.#ended.signal });
      if (fault.kind === 'reset') {
        resetSocket(this.socket);
        return;
      }
    }
    if (!this.socket.writable) return;
    if (this.socket.writableLength > MAX_UNREAD_BYTES) {
      this.socket.destroy();
      return;
    }
    this.socket.write(spoil(formatResponse(response, request.headers.get('cseq')), faults));
    response.afterwards?.();
  }

  #end(): void {
    this.#ended.abort();
    this.#waiting.length = 0;
    for (const session of new Set(this.#channels.values())) session.end();
  }
}

function internalError(): Reply {
  return { response: { status: 500 }, faults: [] };
}

function spoil(answer: string, faults: readonly AnswerFault[]): string {
  return faults.reduce((text, fault) => SPOIL[fault.kind]?.(text) ?? text, answer);
}
