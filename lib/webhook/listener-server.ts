import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import https from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { Dispatcher, PageRoutes } from './dispatcher';
import { LogThrottle } from './rate-limits';
import { mayHideHeaders, type Senders, type Unfinished, SlowRequestGuard } from './request';

/** Bounds of a server of our own, in front of those of the receiver. */
export interface ListenerLimits {
  /** Time for the head of a request, and for the TLS handshake, in milliseconds. Default 5,000. */
  headMs: number;
  /** How often that time is checked, in milliseconds. Default 500. */
  checkMs: number;
  /** Longest head, in bytes. Default 16 KiB. */
  headBytes: number;
  /** Time that an idle connection stays open, in milliseconds. Default 65,000, because proxies close theirs after 60 s. */
  keepAliveMs: number;
  /** Connections without a complete request, in all. Default 1,000. */
  maxWaiting: number;
}

export const DEFAULT_LIMITS: ListenerLimits = {
  headMs: 5000,
  checkMs: 500,
  headBytes: 16 * 1024,
  keepAliveMs: 65_000,
  maxWaiting: 1000,
};

interface ListenerServerOptions {
  dispatcher: Dispatcher;
  pages: PageRoutes;
  senders: Senders;
  limits: ListenerLimits;
  /** With it the server accepts TLS only. */
  tls: SecureContextOptions | undefined;
  log: (line: string) => void;
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number;
}

/** At most one log line of a kind in this time, in milliseconds: a port scan must not fill the log. */
const QUIET_PERIOD = 60_000;

/** Without `http/1.0` a client that offers only that is refused in the TLS handshake. */
const ALPNProtocols = ['http/1.1', 'http/1.0'];

type ClientError = Error & { code?: string; rawPacket?: Buffer };

/** Answers to requests that Node's parser refuses, by the code of Node; all others get 400. */
const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** One HTTP or HTTPS server for webhooks alone, from its opening to its end. It has no `upgrade` listener. */
export class ListenerServer {
  readonly #server: http.Server | https.Server;
  readonly #connections: ConnectionLimiter;
  readonly #logThrottle: LogThrottle;

  constructor(private readonly options: ListenerServerOptions) {
    const { limits, senders, monotonic, tls } = options;
    this.#logThrottle = new LogThrottle(QUIET_PERIOD, monotonic);
    const waiting = new SlowRequestGuard({
      maxHeld: Infinity,
      maxCount: limits.maxWaiting,
      senders,
      monotonic,
      onCut: () =>
        this.#log('waiting', 'A connection without a request was closed, to make room for others.'),
    });
    this.#connections = new ConnectionLimiter(waiting);
    const settings = httpOptions(limits);
    this.#server =
      tls === undefined
        ? http.createServer(settings)
        : https.createServer({ ...settings, ...tls, ALPNProtocols, handshakeTimeout: limits.headMs });
    this.#server.on('connection', (socket: Socket) => this.#connections.accepted(socket));
    options.dispatcher.pace(this.#server, true);
    this.#server.on('request', (req, res) => this.#receive(req, res));
    this.#server.on('clientError', (error: ClientError, socket) => this.#failed(error, socket));
  }

  get isSecure(): boolean {
    return this.#server instanceof https.Server;
  }

  address(): AddressInfo | string | null {
    return this.#server.address();
  }

  /** Applies to new connections; open ones keep their certificate. Only for a server with TLS. */
  setTls(tls: SecureContextOptions): void {
    if (this.#server instanceof https.Server) this.#server.setSecureContext(tls);
  }

  /**
   * @param host '' = all addresses of the machine
   * @throws Error of Node, such as with code EADDRINUSE
   */
  async listen(port: number, host: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port, ...(host !== '' && { host }) }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    // The webhooks alone must not keep the process alive.
    this.#server.unref();
    // Accepting a connection can fail, for example for want of file descriptors. Without a listener the error
    // would end the process.
    this.#server.on('error', (error) =>
      this.#log('accept', `A connection was not accepted: ${error.message}`),
    );
  }

  /** Frees the port at once. Requests under way are answered, then their connections are closed. */
  close(): void {
    this.#server.close();
    this.#connections.end();
  }

  #receive(req: IncomingMessage, res: ServerResponse): void {
    this.#connections.began(req, res);
    const { dispatcher, pages } = this.options;
    if (mayHideHeaders(req)) return dispatcher.refuse(req, res, 'head');
    // Node's parser demands one and accepts two: a proxy in front may have used the other.
    if ((req.headersDistinct['host'] ?? []).length > 1) return dispatcher.refuse(req, res, 'malformed');
    if (!dispatcher.handle(req, res) && !pages.handle(req, res)) dispatcher.refuse(req, res, 'unknown');
  }

  #failed(error: ClientError, socket: Duplex): void {
    if (!(socket instanceof Socket)) return;
    const { code = '', rawPacket } = error;
    const misuse = misuseOf(code, rawPacket);
    if (misuse !== undefined) this.#log(misuse, misuse);
    if (code !== 'ERR_HTTP_REQUEST_TIMEOUT') return this.#refuse(code, socket);
    // Timers run before sockets: in a process that was busy, the head may have come in time.
    setImmediate(() => {
      if (this.#connections.isSilent(socket)) this.#refuse(code, socket);
    });
  }

  #refuse(code: string, socket: Socket): void {
    const isHttp = code.startsWith('HPE_') || code in REFUSALS;
    if (!isHttp || !socket.writable) {
      socket.destroy();
      return;
    }
    // An error status here would be taken for the answer to the previous request.
    if (this.#connections.endsBehindAnswer(socket)) return;
    const status = REFUSALS[code] ?? '400 Bad Request';
    if (this.#connections.isUnanswered(socket))
      socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    socket.destroySoon();
  }

  #log(kind: string, line: string): void {
    const count = this.#logThrottle.pass(kind);
    if (count > 0) this.options.log(count === 1 ? line : `${line} (${count} times)`);
  }
}

function httpOptions(limits: ListenerLimits): http.ServerOptions {
  return {
    headersTimeout: limits.headMs,
    connectionsCheckingInterval: limits.checkMs,
    // Node would answer 408 to a slow body. The receiver cuts it instead, and needs no second timeout.
    requestTimeout: 0,
    maxHeaderSize: limits.headBytes,
    keepAliveTimeout: limits.keepAliveMs,
    // Set explicitly, because flags of the process could allow it.
    insecureHTTPParser: false,
  };
}

interface Connection {
  /** The accepted TCP socket; with TLS, requests refer to the TLS socket above it. */
  socket: Socket;
  /** Responses that are not finished. */
  responses: Set<ServerResponse>;
  /** Set while no complete request waits for its answer. */
  waiting: Unfinished | undefined;
  /** True where nothing more can be read from it. */
  broken: boolean;
}

/**
 * Limits the connections of a server that have no complete request: above the limit the oldest is closed, so that the real
 * sender always gets in. Proxies and this machine are not counted, because many senders share their addresses.
 */
class ConnectionLimiter {
  readonly #open = new Map<string, Connection>();
  #ending = false;

  /** @param waiting those without a complete request */
  constructor(private readonly waiting: SlowRequestGuard) {}

  /** Registers an accepted socket, before the TLS handshake. */
  accepted(socket: Socket): void {
    const key = keyOf(socket);
    const connection: Connection = { socket, responses: new Set(), waiting: undefined, broken: false };
    this.#open.set(key, connection);
    this.#wait(connection);
    socket.once('close', () => {
      this.#proceed(connection);
      if (this.#open.get(key) === connection) this.#open.delete(key);
    });
  }

  /** Registers a request whose head is complete. */
  began(req: IncomingMessage, res: ServerResponse): void {
    const connection = this.#open.get(keyOf(req.socket));
    if (connection === undefined) return;
    connection.responses.add(res);
    req.once('end', () => this.#proceed(connection));
    res.once('close', () => {
      connection.responses.delete(res);
      if (connection.responses.size === 0) this.#answered(connection, req.socket);
    });
  }

  /** True where no request is under way on a connection. */
  isSilent(socket: Socket): boolean {
    return this.#open.get(keyOf(socket))?.responses.size === 0;
  }

  /** True where a connection that can no longer be read still owes an answer; the connection then ends after it. */
  endsBehindAnswer(socket: Socket): boolean {
    const connection = this.#open.get(keyOf(socket));
    if (connection === undefined) return false;
    connection.broken = [...connection.responses].some(({ req }) => req.complete);
    return connection.broken;
  }

  /** True where no answer has begun on a connection. */
  isUnanswered(socket: Socket): boolean {
    const responses = this.#open.get(keyOf(socket))?.responses ?? [];
    return [...responses].every(({ headersSent }) => !headersSent);
  }

  /** Closes all connections; those with a request under way after its answer. */
  end(): void {
    this.#ending = true;
    for (const { socket, responses } of this.#open.values()) if (responses.size === 0) socket.destroy();
  }

  #answered(connection: Connection, socket: Socket): void {
    if (this.#ending || connection.broken) socket.destroySoon();
    else if (!connection.socket.destroyed) this.#wait(connection);
  }

  #wait(connection: Connection): void {
    connection.waiting ??= this.waiting.add(connection.socket, connection.socket.remoteAddress);
  }

  #proceed(connection: Connection): void {
    if (connection.waiting !== undefined) this.waiting.remove(connection.waiting);
    connection.waiting = undefined;
  }
}

/** The same key for the accepted socket and for the TLS socket above it. */
function keyOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}

const FIRST_BYTE_OF_TLS = 0x16;

/**
 * A sentence for the log about a client that speaks another protocol than the server; undefined for all else, such as broken
 * HTTP.
 * @param code of the error that Node reported
 * @param bytes in which Node's HTTP parser found the fault
 */
function misuseOf(code: string, bytes: Buffer | undefined): string | undefined {
  if (code === 'ERR_SSL_HTTP_REQUEST')
    return 'A connection spoke plain HTTP to a listener with TLS, and was closed: is the address registered with http://, or the listener meant to have no TLS?';
  if (code.startsWith('ERR_SSL_'))
    return `A connection did not agree on TLS, and was closed (${code}): if it was the service, it may not trust the certificate of the listener.`;
  if (bytes?.[0] === FIRST_BYTE_OF_TLS)
    return 'A connection spoke TLS to a listener without it, and was refused: is the address registered with https://? Then choose a TLS configuration in the listener.';
  if (code === 'HPE_PAUSED_H2_UPGRADE')
    return 'A connection spoke HTTP/2 without asking, and was refused: the listener speaks HTTP/1.1.';
  return undefined;
}

/** A server of Node.js 22.21 or 24.9 and later, which has a callback that decides on an upgrade. */
interface AskedServer extends Server {
  shouldUpgradeCallback: (this: Server, req: IncomingMessage) => boolean;
}

/**
 * Lets a server treat requests to our paths that ask for another protocol as ordinary ones: a server may ignore `Upgrade` (RFC
 * 9110, section 7.8). Node leaves them unanswered wherever there is an `upgrade` listener, and some clients ask for HTTP/2 in
 * this way with every POST.
 */
export function ignoreUpgrades(server: Server, isOurs: (target: string) => boolean): void {
  if (canBeAsked(server)) {
    const before = server.shouldUpgradeCallback;
    server.shouldUpgradeCallback = function shouldUpgrade(req) {
      return isOurs(req.url ?? '') ? false : before.call(this, req);
    };
    return;
  }
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Not at once: the bytes that came with it are put back first, and those that are handed back go in front of them.
    if (isOurs(req.url ?? '')) process.nextTick(handBack, req, socket, head, server);
  });
}

function canBeAsked(server: Server): server is AskedServer {
  return 'shouldUpgradeCallback' in server && typeof server.shouldUpgradeCallback === 'function';
}

/**
 * Feeds a request to its server again, without `Upgrade`; framing and bytes of the body stay as they came. Cut where that is
 * not certain: with header lines that Node has dropped, or behind a request that still waits for its answer.
 */
function handBack(req: IncomingMessage, socket: Duplex, head: Buffer, server: Server): void {
  const isPending = '_httpMessage' in socket && socket._httpMessage !== null;
  if (mayHideHeaders(req) || isPending) {
    socket.destroy();
    return;
  }
  const lines = [`${req.method ?? ''} ${req.url ?? ''} HTTP/${req.httpVersion}`];
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    const name = req.rawHeaders[at] ?? '';
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${req.rawHeaders[at + 1] ?? ''}`);
  }
  // Node decodes header lines as Latin-1, so this restores the original bytes.
  socket.unshift(Buffer.concat([Buffer.from([...lines, '', ''].join('\r\n'), 'latin1'), head]));
  server.emit('encrypted' in socket ? 'secureConnection' : 'connection', socket);
}
