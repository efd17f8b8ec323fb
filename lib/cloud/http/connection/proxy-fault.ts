import { RvmError, type RvmErrorCause } from '../../../error';
import type { Proxy } from './proxy-settings';
import { tlsFault } from '../../../tls';

/** Where the way to the proxy, or the proxy itself, ended a connection: a status of its answer, or an error code. */
type Reason = { status: number } | { code: string; message: string };

const TIMEOUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']);
/** Some proxies answer 401 to a wrong login. */
const LOGIN_WANTED: readonly number[] = [407, 401];

/**
 * A proxy gives no way to the service. It travels through the HTTP client as it is and becomes an `RvmError` where it is
 * known what was asked for.
 */
export class ProxyFault extends Error {
  override readonly name = 'ProxyFault';
  readonly #proxy: Proxy;
  readonly #reason: Reason;

  constructor(proxy: Proxy, reason: Reason) {
    super('The proxy gives no connection.');
    this.#proxy = proxy;
    this.#reason = reason;
  }

  static from(proxy: Proxy, error: Error): ProxyFault {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
    return new ProxyFault(proxy, { code, message: error.message });
  }

  toRvmError(cause: RvmErrorCause): RvmError {
    if ('status' in this.#reason) {
      const { status } = this.#reason;
      return new RvmError('NETWORK', this.#refusal(status), { ...cause, status });
    }
    const { code, message } = this.#reason;
    if (TIMEOUTS.has(code)) {
      return new RvmError(
        'TIMEOUT',
        `The proxy ${this.#place} did not answer in time; check that it works.`,
        cause,
      );
    }
    const tls = this.#proxy.protocol === 'https:' ? tlsFault(code, message, 'proxy') : undefined;
    if (tls !== undefined) return new RvmError('TLS', tls, cause);
    if (code.startsWith('HPE_')) {
      return new RvmError(
        'NETWORK',
        `What answers at ${this.#place} is no proxy (${code}); check its address.`,
        cause,
      );
    }
    return new RvmError(
      'NETWORK',
      `The proxy ${this.#place} cannot be reached${code === '' ? '' : ` (${code})`}; check its address and the network.`,
      cause,
    );
  }

  #refusal(status: number): string {
    if (LOGIN_WANTED.includes(status)) {
      return this.#proxy.authorization === undefined
        ? `The proxy ${this.#place} asks for a user and a password: enter them with its address.`
        : `The proxy ${this.#place} does not accept its user and password: correct them (it must allow a basic login).`;
    }
    return status >= 500
      ? `The proxy ${this.#place} does not reach the service (status ${status}); check the address of the cloud, then the proxy.`
      : `The proxy ${this.#place} refuses a connection to the service (status ${status}): have its address and port allowed there.`;
  }

  get #place(): string {
    const { hostname, port } = this.#proxy;
    return `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;
  }
}
