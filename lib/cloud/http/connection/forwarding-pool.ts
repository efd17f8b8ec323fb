import { Pool, type Dispatcher } from 'undici';
import type { Proxy } from './proxy-settings';

/**
 * Connections to a proxy that forwards requests to a service without TLS: each names its whole address (RFC 9112, section
 * 3.2.2). Most proxies refuse CONNECT to other ports than 443.
 */
export class ForwardingPool extends Pool {
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
    return super.dispatch({ ...options, path: `${this.#target.origin}${options.path}`, headers }, handler);
  }
}
