import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import type { AnswerFault, RtspFault } from './faults';
import type { GrantRequest } from './grants';
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

/** The RTSP server of the sandbox: plays the recorded fixture, live or from a given moment, to players with a one-time URL. */
export class RtspServer {
  readonly port: number;
  /** Base URL, such as `rtsp://127.0.0.1:8554`. */
  readonly url: string;
  readonly #service: RtspService;
  readonly #connections = new Set<RtspServerConnection>();
  readonly #sockets = new Set<Socket>();
  readonly #sweep: NodeJS.Timeout;

  private constructor(
    private readonly listener: Server,
    private readonly options: EffectiveOptions,
  ) {
    const { authentication: login, host, sessionTimeoutSeconds: timeout, tls } = options;
    this.port = portOf(listener);
    const scheme = tls === undefined ? 'rtsp' : 'rtsps';
    const authority = `${urlHost(host)}:${this.port}`;
    this.url = `${scheme}://${authority}`;
    const [user, password] = [login?.username ?? '', login?.password ?? ''].map(encodeURIComponent);
    this.#service = new RtspService(
      options,
      login === undefined ? this.url : `${scheme}://${user}:${password}@${authority}`,
    );
    listener.on('connection', (socket: Socket) => this.#track(socket));
    listener.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      if (!socket.destroyed) this.#serve(socket);
    });
    // For example too many open files: the connection is lost, the server continues.
    listener.on('error', () => undefined);
    this.#sweep = setInterval(() => this.#endSilent(timeout), Math.min(1000, timeout * 250));
  }

  /** Rejects if the port is in use and `fallbackToFreePort` is false. */
  static async start(options: RtspServerOptions): Promise<RtspServer> {
    const effective = withDefaults(options);
    return new RtspServer(await listen(effective), effective);
  }

  /** Current RTSP sessions. */
  get sessionCount(): number {
    return this.#service.sessionCount;
  }

  /** RTSP sessions since the start. */
  get openedCount(): number {
    return this.#service.openedCount;
  }

  /** Open connections, with or without a session. */
  get connectionCount(): number {
    return this.#sockets.size;
  }

  /**
   * Creates an RTSP URL. Defaults: it allows one session, and expires after 300 s of `now()` without PLAY. `start` = epoch
   * milliseconds of recorded video, absent = live. The whole URL is a secret.
   */
  grant(request: GrantRequest): string {
    return this.#service.grant(request);
  }

  /** Switches a fault on, in addition to those already on. */
  setFault(fault: RtspFault): void {
    this.#service.faults.add(fault);
  }

  /** Switches all faults off; streams that a fault has already changed stay as they are. */
  clearFaults(): void {
    this.#service.faults.clear();
  }

  /** Ends every session and connection and frees all ports. May be called more than once. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    this.#service.endAll();
    const closed = this.listener.listening ? once(this.listener, 'close') : undefined;
    this.listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  // TLS connections are registered before their handshake, so that none can outlive the server.
  #track(socket: Socket): void {
    if (this.#sockets.size >= this.options.maxConnections && !this.#evict()) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Closes a connection without handshake, else the longest idle one; none that plays. False = all play. */
  #evict(): boolean {
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
    const connection = new RtspServerConnection(socket, this.#service, this.options.monotonic);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
  }

  #endSilent(timeout: number): void {
    this.#service.endSilent();
    for (const connection of this.#connections) if (connection.idleFor(2 * timeout)) connection.close();
  }
}

/** The same text for a TCP connection and the TLS connection over it. */
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

// A server can listen on a wildcard address, but clients cannot connect to it.
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** A client with more unanswered requests than this is disconnected. */
const MAX_WAITING_REQUESTS = 64;
/** A client with more unread bytes of answers than this is disconnected. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
const OVERSIZE_LENGTH = 4 * 1024 * 1024 * 1024;

/** Faults that change the text of an answer. */
const SPOIL: Partial<Record<AnswerFault['kind'], (answer: string) => string>> = {
  garbage: (answer) => answer.replace(/^.*/, '\u0007!? 2OO yes'),
  'wrong-cseq': (answer) => answer.replace(/^CSeq: \d+/m, 'CSeq: 4294967295'),
  'no-content-length': (answer) => answer.replace(/Content-Length: \d+\r\n/, ''),
  'oversize-content-length': (answer) => answer.replace(/(Content-Length: )\d+/, `$1${OVERSIZE_LENGTH}`),
};

/** One RTSP connection: answers requests in order and carries interleaved sessions. */
class RtspServerConnection implements Peer {
  readonly #parser = new RequestParser();
  readonly #ended = new AbortController();
  readonly #channels = new Map<number, RtspServerSession>();
  readonly #waiting: RtspRequest[] = [];
  #busy = false;
  /** Time of the client's last request, by the monotonic clock. */
  lastSign: number;

  constructor(
    readonly socket: Socket,
    private readonly service: RtspService,
    /** Milliseconds of a monotonic clock. */
    private readonly monotonic: () => number,
  ) {
    this.lastSign = monotonic();
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end());
  }

  /** True if the client has sent no request for `seconds` and the connection carries no stream. */
  idleFor(seconds: number): boolean {
    return this.#channels.size === 0 && this.monotonic() - this.lastSign > seconds * 1000;
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
    this.lastSign = this.monotonic();
    this.#waiting.push(incoming);
  }

  #refuse(status: number): void {
    this.socket.removeAllListeners('data');
    this.socket.end(formatResponse({ status, headers: { Connection: 'close' } }, undefined));
    // Further data of the client is not read: without this the connection would wait for its end.
    this.socket.destroySoon();
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (let request = this.#waiting.shift(); request !== undefined; request = this.#waiting.shift()) {
      const reply = await this.service.answer(request, this).catch(() => internalError());
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
