import { Agent, Pool, type Dispatcher } from 'undici';
import { connector, proxyConnector } from './connector';
import { ForwardingPool } from './forwarding-pool';
import { OpenSockets } from './open-sockets';
import { ProxyFault } from './proxy-fault';
import { proxyChoice, type Proxy, type ProxySettings } from './proxy-settings';
import { tlsOptions, type TlsOptions, type TlsSettings } from '../../../tls';
import { tunnelConnector } from './tunnel';

export interface ConnectionOptions {
  /** Without it the certificate authorities of the machine vouch for the service. */
  tls?: TlsSettings;
  proxy: ProxySettings;
  /** Milliseconds until a connection stands, proxy and TLS included. */
  timeoutMs: number;
}

/** To one origin, and requests under way in all. */
export const MAX_CONNECTIONS = 32;
/** Of the body of one answer, as it is sent and again once it is unpacked. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

const LIMITS = {
  connections: MAX_CONNECTIONS,
  // The transport bounds the whole request; these would start anew with each stage, or each piece of a body.
  headersTimeout: 0,
  bodyTimeout: 0,
  maxResponseSize: MAX_ANSWER_BYTES,
  allowH2: false,
};

/** The connections of one Central Station: straight to the service, or through a proxy. */
export class Connections {
  readonly #agent: Agent;
  readonly #timeoutMs: number;
  readonly #tls: TlsOptions;
  readonly #proxyOf: (target: URL) => Proxy | undefined;
  readonly #closing = new AbortController();
  readonly #sockets = new OpenSockets();

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

  /** The fault behind a 407: where requests are forwarded in clear, the proxy answers in the place of the service. */
  refusedLogin(target: URL): ProxyFault | undefined {
    const proxy = target.protocol === 'http:' ? this.#proxyOf(target) : undefined;
    return proxy && new ProxyFault(proxy, { status: 407 });
  }

  /** Ends them all, those that are being made included. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#agent.destroy();
    this.#sockets.close();
  }

  #pool(origin: URL): Pool {
    const proxy = this.#proxyOf(origin);
    const timeoutMs = this.#timeoutMs;
    const tls = this.#tls;
    if (proxy === undefined)
      return new Pool(origin, { ...LIMITS, connect: this.#sockets.of(connector(tls, timeoutMs)) });
    if (origin.protocol === 'http:') {
      const connect = this.#sockets.of(proxyConnector(proxy, timeoutMs));
      return new ForwardingPool(proxy, origin, { ...LIMITS, connect });
    }
    const connect = tunnelConnector({ proxy, tls, timeoutMs, closing: this.#closing.signal });
    return new Pool(origin, { ...LIMITS, connect: this.#sockets.of(connect) });
  }
}
