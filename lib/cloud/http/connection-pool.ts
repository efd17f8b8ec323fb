import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher, Pool } from 'undici';
import { tlsOptions, type TlsOptions, type TlsSettings } from '../../tls';
import { MAX_ANSWER_BYTES } from './answer';
import { type Proxy, proxyChoice, ProxyFault, type ProxySettings } from './proxy';

export interface ConnectionOptions {
  /** Without it the certificate authorities of the machine are trusted. */
  tls?: TlsSettings;
  proxy: ProxySettings;
  /** Milliseconds until a connection is open, including proxy and TLS. */
  timeoutMs: number;
}

/** Per origin, and for all requests at the same time. */
export const MAX_CONNECTIONS = 32;

const LIMITS = {
  connections: MAX_CONNECTIONS,
  // The transport limits the whole request; these would start again at each stage, or each piece of a body.
  headersTimeout: 0,
  bodyTimeout: 0,
  maxResponseSize: MAX_ANSWER_BYTES,
  allowH2: false,
};

/** The connections of one Central Station: directly to the service, or through a proxy. */
export class ConnectionPool {
  readonly #agent: Agent;
  readonly #timeoutMs: number;
  readonly #tls: TlsOptions;
  readonly #proxyOf: (target: URL) => Proxy | undefined;
  readonly #closing = new AbortController();
  /** The sockets that connectors have opened. */
  readonly #sockets = new Set<Socket>();

  /** @throws RvmError CONFIG_MISSING for TLS or proxy settings that cannot be used. */
  constructor({ tls, proxy, timeoutMs }: ConnectionOptions) {
    this.#timeoutMs = timeoutMs;
    this.#tls = tlsOptions(tls);
    this.#proxyOf = proxyChoice(proxy);
    this.#agent = new Agent({ factory: (origin) => this.#pool(new URL(origin)) });
  }

  get dispatcher(): Dispatcher {
    return this.#agent;
  }

  /** The error for a 407: for requests without TLS the proxy itself answers instead of the service. */
  refusedLogin(target: URL): ProxyFault | undefined {
    const proxy = target.protocol === 'http:' ? this.#proxyOf(target) : undefined;
    return proxy && new ProxyFault(proxy, { status: 407 });
  }

  /** Closes all connections, including those that are being opened. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#agent.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #pool(origin: URL): Pool {
    const proxy = this.#proxyOf(origin);
    const [tls, timeoutMs, closing] = [this.#tls, this.#timeoutMs, this.#closing.signal];
    if (proxy !== undefined && origin.protocol === 'http:') {
      const connect = this.#tracked(proxyConnector(proxy, timeoutMs));
      return new ForwardingPool(proxy, origin, { ...LIMITS, connect });
    }
    const connect =
      proxy === undefined ? connector(tls, timeoutMs) : tunnelConnector({ proxy, tls, timeoutMs, closing });
    return new Pool(origin, { ...LIMITS, connect: this.#tracked(connect) });
  }

  /**
   * The same connector; its sockets are closed with the others. When an attempt to connect fails, the HTTP client drops its
   * pool, or the pool a connection, although other attempts are under way: else only the service would close their sockets.
   */
  #tracked(connect: Connector): Connector {
    return (target, callback) =>
      connect(target, (...[error, socket]) => {
        if (error !== null) {
          callback(error, null);
          return;
        }
        this.#sockets.add(socket.once('close', () => this.#sockets.delete(socket)));
        if (this.#closing.signal.aborted) socket.destroy();
        callback(null, socket);
      });
  }
}

type Connector = buildConnector.connector;

/**
 * Connects to the service.
 * @param timeoutMs until the TLS handshake is over
 */
function connector(tls: TlsOptions, timeoutMs: number): Connector {
  // One request at a time on each connection: the limits and the order of requests depend on that.
  const connect = buildConnector({ ...tls, timeout: timeoutMs, allowH2: false });
  return (target, callback) => {
    connect(target, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      // From TLS 1.3 on, a rejected client certificate shows only after the handshake: an alert, followed at
      // once by the end of the connection. Without this, that end would be reported instead of the reason.
      socket.once('error', (fault) => socket.destroy(fault));
      callback(null, socket);
    });
  };
}

/** Connects to a proxy, with the certificate authorities of this machine. */
function proxyConnector(proxy: Proxy, timeoutMs: number): Connector {
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false });
  return ({ servername: _ofTheService, ...target }, callback) => {
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, socket);
      else callback(ProxyFault.from(proxy, error), null);
    });
  };
}

/**
 * Connections to a proxy that forwards requests to a service without TLS: each request names the whole address (RFC 9112,
 * section 3.2.2). Most proxies reject CONNECT to ports other than 443. Each request has a connection of its own: some proxies end
 * one after an answer without saying so, and a request that is just on its way then is lost.
 */
class ForwardingPool extends Pool {
  readonly #proxy: Proxy;
  readonly #target: URL;

  constructor(proxy: Proxy, target: URL, options: Pool.Options) {
    const host = proxy.hostname.includes(':') ? `[${proxy.hostname}]` : proxy.hostname;
    super(`${proxy.protocol}//${host}:${proxy.port}`, options);
    this.#proxy = proxy;
    this.#target = target;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { authorization } = this.#proxy;
    const given = options.headers ?? {};
    if (Array.isArray(given) || Symbol.iterator in given) throw new TypeError('Headers are given by name.');
    const headers = {
      ...given,
      host: this.#target.host,
      ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }),
    };
    const path = `${this.#target.origin}${options.path}`;
    return super.dispatch({ ...options, path, headers, reset: true }, handler);
  }
}

interface TunnelOptions {
  proxy: Proxy;
  tls: TlsOptions;
  /** Milliseconds in all: connection to the proxy, its answer, and the TLS handshake with the service. */
  timeoutMs: number;
  /** Aborts connections that are being opened. */
  closing: AbortSignal;
}

/**
 * Connects to the service through a proxy: CONNECT (RFC 9110, section 9.3.6), then TLS with the service itself. The proxy sees
 * host name and port, but neither key nor cookie.
 */
function tunnelConnector(options: TunnelOptions): buildConnector.connector {
  return (target, callback) => {
    const startedAt = performance.now();
    openTunnel(options, `${hostOf(target)}:${target.port || '443'}`).then(
      (socket) => {
        const left = Math.max(1, options.timeoutMs - (performance.now() - startedAt));
        secure({ ...options, timeoutMs: left }, { ...target, httpSocket: socket }, callback);
      },
      (error: Error) => callback(error, null),
    );
  };
}

function secure(
  { tls, timeoutMs, closing }: TunnelOptions,
  target: buildConnector.Options & { httpSocket: Socket },
  callback: buildConnector.Callback,
): void {
  const end = (): void => void target.httpSocket.destroy();
  closing.addEventListener('abort', end);
  connector(tls, timeoutMs)(target, (...result) => {
    closing.removeEventListener('abort', end);
    if (result[0] !== null) end();
    callback(...result);
  });
}

function openTunnel({ proxy, timeoutMs, closing }: TunnelOptions, authority: string): Promise<Socket> {
  const { request } = proxy.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const pending = request({
      method: 'CONNECT',
      host: proxy.hostname,
      port: proxy.port,
      path: authority,
      agent: false,
      headers: {
        Host: authority,
        Connection: 'keep-alive',
        ...(proxy.authorization === undefined ? {} : { 'Proxy-Authorization': proxy.authorization }),
      },
    });
    const timedOut = (): void =>
      void pending.destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(timedOut, timeoutMs);
    const end = (): void => void pending.destroy();
    closing.addEventListener('abort', end);
    const settled = (): void => {
      clearTimeout(timer);
      closing.removeEventListener('abort', end);
    };
    pending.once('error', (error) => {
      settled();
      reject(ProxyFault.from(proxy, error));
    });
    pending.once('connect', (answer, socket: Socket, head) => {
      settled();
      const status = answer.statusCode ?? 0;
      if (status >= 200 && status < 300) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new ProxyFault(proxy, { status }));
    });
    pending.end();
  });
}

function hostOf({ hostname }: buildConnector.Options): string {
  return hostname.includes(':') ? `[${hostname}]` : hostname;
}
