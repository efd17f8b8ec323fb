import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { Socket, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { Senders } from '../bounds/senders';
import { Throttle } from '../bounds/throttle';
import type { Dispatcher } from '../receive/dispatcher';
import type { Pages } from '../receive/pages';
import { KEPT_RAW_HEADERS } from '../receive/ignored-upgrade';
import { Connections } from './connections';
import { misuseOf } from './misuse';

/** Bounds of a server of our own, in front of those of the receiver. */
export interface ListenerLimits {
  /** Time for the head of a request, and for the greeting of TLS, in milliseconds. Default 5,000. */
  headMs: number;
  /** How often that time is looked at, in milliseconds. Default 500. */
  checkMs: number;
  /** Longest head, in bytes. Default 16 KiB. */
  headBytes: number;
  /** Time that a connection stays open without a request, in milliseconds. Default 65,000: proxies go at 60 s. */
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

export interface ListenerServerOptions {
  dispatcher: Dispatcher;
  pages: Pages;
  senders: Senders;
  limits: ListenerLimits;
  /** With it the server speaks TLS alone. */
  tls: SecureContextOptions | undefined;
  log: (line: string) => void;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
}

/** At most one line of a kind in this time, in milliseconds: whoever scans the port must not fill the log. */
const QUIET_PERIOD = 60_000;

/** Without the second, whoever offers that alone is refused in the greeting of TLS. */
const ALPNProtocols = ['http/1.1', 'http/1.0'];

type ClientError = Error & { code?: string; rawPacket?: Buffer };

/** What is answered where no request came about, by the code of Node; 400 to all else that its parser refuses. */
const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** One HTTP or HTTPS server for webhooks alone, from its opening to its end. Without Upgrade: nobody listens for it. */
export class ListenerServer {
  readonly #server: http.Server | https.Server;
  readonly #connections: Connections;
  readonly #lines: Throttle;

  constructor(private readonly options: ListenerServerOptions) {
    const { limits, senders, steady, tls } = options;
    this.#lines = new Throttle(QUIET_PERIOD, steady);
    this.#connections = new Connections({
      maxWaiting: limits.maxWaiting,
      senders,
      steady,
      onCut: () =>
        this.#log('waiting', 'A connection without a request was closed, to make room for others.'),
    });
    const settings = httpOptions(limits);
    this.#server =
      tls === undefined
        ? http.createServer(settings)
        : https.createServer({ ...settings, ...tls, ALPNProtocols, handshakeTimeout: limits.headMs });
    this.#server.on('connection', (socket: Socket) => this.#connections.accepted(socket));
    options.dispatcher.pace(this.#server);
    this.#server.on('request', (req, res) => this.#receive(req, res));
    this.#server.on('clientError', (error: ClientError, socket) => this.#failed(error, socket));
  }

  get isSecure(): boolean {
    return this.#server instanceof https.Server;
  }

  address(): AddressInfo | string | null {
    return this.#server.address();
  }

  /** For connections that come from now on; those that are open go on. Only of a server with TLS. */
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
    // The webhooks alone are no reason for a process to live on.
    this.#server.unref();
    // A connection that cannot be accepted, for want of file descriptors for one: without a listener, the end of all.
    this.#server.on('error', (error) =>
      this.#log('accept', `A connection was not accepted: ${error.message}`),
    );
  }

  /** Frees the port at once. Requests under way are dealt with, and their connections closed behind them. */
  close(): void {
    this.#server.close();
    this.#connections.end();
  }

  #receive(req: IncomingMessage, res: ServerResponse): void {
    this.#connections.began(req, res);
    const { dispatcher, pages } = this.options;
    if (req.rawHeaders.length >= KEPT_RAW_HEADERS) return dispatcher.refuse(req, res, 'head');
    // Node's parser demands one, and takes two: a proxy in front may have gone by the other.
    if ((req.headersDistinct['host'] ?? []).length > 1) return dispatcher.refuse(req, res, 'malformed');
    if (!dispatcher.handle(req, res) && !pages.handle(req, res)) dispatcher.refuse(req, res, 'unknown');
  }

  #failed(error: ClientError, socket: Duplex): void {
    if (!(socket instanceof Socket)) return;
    const { code = '', rawPacket } = error;
    const misuse = misuseOf(code, rawPacket);
    if (misuse !== undefined) this.#log(misuse, misuse);
    if (code !== 'ERR_HTTP_REQUEST_TIMEOUT') return this.#refuse(code, socket);
    // Timers come before sockets: to a process that was busy, the head may have come in time.
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
    // An error status here would be taken for the answer to the request before.
    if (this.#connections.endsBehindAnswer(socket)) return;
    const status = REFUSALS[code] ?? '400 Bad Request';
    if (this.#connections.isUnanswered(socket))
      socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    socket.destroySoon();
  }

  #log(kind: string, line: string): void {
    const count = this.#lines.pass(kind);
    if (count > 0) this.options.log(count === 1 ? line : `${line} (${count} times)`);
  }
}

function httpOptions(limits: ListenerLimits): http.ServerOptions {
  return {
    headersTimeout: limits.headMs,
    connectionsCheckingInterval: limits.checkMs,
    // Node would answer 408 to a slow body; the receiver cuts it, and needs no second clock.
    requestTimeout: 0,
    maxHeaderSize: limits.headBytes,
    keepAliveTimeout: limits.keepAliveMs,
    // Whatever the flags of the process say.
    insecureHTTPParser: false,
  };
}
