import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

import { Connection } from './connection';
import type { RtspFault } from './faults';
import type { Grant, GrantRequest } from './grants';
import { withDefaults, type EffectiveOptions, type RtspServerOptions } from './options';
import { RtspService } from './service';

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
  readonly #connections = new Set<Connection>();
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
    const connection = new Connection(socket, this.#service, this.#steady);
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
