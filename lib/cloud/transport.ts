import { cookie } from 'http-cookie-agent/undici';
import { CookieJar } from 'tough-cookie';
import { request, type Dispatcher } from 'undici';
import { RvmError } from '../error';
import { Answer } from './answer';
import { Connections, type ConnectionOptions } from './connection/connections';
import { abortError, type Operation } from './operation';
import type { Origins, TrustedUrl } from './origin';
import { closedError, timeoutError, transportError } from './transport-error';

export interface TransportOptions extends ConnectionOptions {
  apiKey: string;
  userAgent: string;
  /** Milliseconds for one request, from connecting to the last byte of the answer. */
  timeoutMs: number;
  /** Texts that no error may repeat: the API key, the password and the like. */
  secrets: readonly string[];
}

export interface ServiceRequest {
  method: 'GET' | 'POST';
  url: TrustedUrl;
  /** What is being followed, for errors. */
  relation: string;
  accept?: string;
  /** Sent as JSON. */
  body?: unknown;
}

/** What only a proxy answers. */
const PROXY_LOGIN = 407;
const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The connections to the service, shared by all sessions of one Central Station. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #connections: Connections;
  readonly #underWay = new Set<AbortController>();
  #closed = false;

  /** @throws RvmError CONFIG_MISSING for TLS or proxy settings that cannot be used. */
  constructor(options: TransportOptions) {
    this.#options = options;
    this.#connections = new Connections(options);
  }

  /** A fresh cookie jar: a late answer to an old session cannot spoil the cookies of the new one. */
  newSession(origins: Origins): HttpSession {
    const jar = new CookieJar();
    const dispatcher = this.#connections.dispatcher.compose(withoutEmptyCookie, cookie({ jar }));
    return new HttpSession(this, origins, jar, dispatcher);
  }

  /**
   * Sends one request and reads the whole answer, whatever its status.
   * @throws RvmError NETWORK, TIMEOUT, TLS, BAD_RESPONSE, CANCELLED
   */
  async send(
    operation: Operation,
    wanted: ServiceRequest,
    dispatcher: Dispatcher,
    cookies: () => string[],
  ): Promise<Answer> {
    if (this.#closed) throw closedError(wanted.relation);
    operation.checkAlive();
    const abort = new AbortController();
    const onAbort = () => {
      if (operation.signal !== undefined) abort.abort(abortError(operation.signal));
    };
    operation.signal?.addEventListener('abort', onAbort);
    this.#underWay.add(abort);
    operation.countRequest();
    try {
      const answer = await this.#exchange(wanted, dispatcher, abort);
      const fault = answer.status === PROXY_LOGIN ? this.#connections.refusedLogin(wanted.url) : undefined;
      if (fault !== undefined) throw fault;
      return new Answer({ ...answer, secrets: () => [...this.#options.secrets, ...cookies()] });
    } catch (error) {
      throw transportError(error, wanted.relation);
    } finally {
      this.#underWay.delete(abort);
      operation.signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Aborts what is under way with CANCELLED and closes every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const abort of this.#underWay) abort.abort(closedError(''));
    await this.#connections.close();
  }

  async #exchange(wanted: ServiceRequest, dispatcher: Dispatcher, abort: AbortController) {
    const timer = setTimeout(() => abort.abort(timeoutError(wanted.relation)), this.#options.timeoutMs);
    try {
      const response = await request(wanted.url, {
        dispatcher,
        method: wanted.method,
        headers: this.#headers(wanted),
        signal: abort.signal,
        ...(wanted.body === undefined ? {} : { body: JSON.stringify(wanted.body) }),
      });
      return {
        status: response.statusCode,
        url: wanted.url,
        relation: wanted.relation,
        contentType: single(response.headers['content-type']),
        location: single(response.headers['location']),
        body: Buffer.from(await response.body.arrayBuffer()),
      };
    } finally {
      clearTimeout(timer);
    }
  }

  #headers(wanted: ServiceRequest): Record<string, string> {
    return {
      ApiKey: this.#options.apiKey,
      'User-Agent': this.#options.userAgent,
      Accept: wanted.accept ?? 'application/json',
      ...(wanted.body === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
  }
}

/** Requests that share one cookie jar. */
export class HttpSession {
  readonly #transport: Transport;
  readonly #origins: Origins;
  readonly #jar: CookieJar;
  readonly #dispatcher: Dispatcher;

  constructor(transport: Transport, origins: Origins, jar: CookieJar, dispatcher: Dispatcher) {
    this.#transport = transport;
    this.#origins = origins;
    this.#jar = jar;
    this.#dispatcher = dispatcher;
  }

  /** The same connections with an empty cookie jar. */
  fresh(): HttpSession {
    return this.#transport.newSession(this.#origins);
  }

  get hasCookie(): boolean {
    return this.#cookies().length > 0;
  }

  /**
   * As `Transport.send`; redirects of a GET are followed, each hop only to an origin we trust. Others are given
   * back as they are.
   * @throws RvmError UNTRUSTED_LINK as well
   */
  async exchange(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    let url = wanted.url;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const answer = await this.#transport.send(operation, { ...wanted, url }, this.#dispatcher, () =>
        this.#cookies(),
      );
      const redirected = wanted.method === 'GET' && REDIRECTS.has(answer.status);
      if (!redirected || answer.location === undefined) return answer;
      url = this.#origins.resolve(answer.location, answer.url, wanted.relation);
    }
    throw new RvmError(
      'BAD_RESPONSE',
      'The service redirects without end; check the base URL of the cloud.',
      {
        relation: wanted.relation,
      },
    );
  }

  #cookies(): string[] {
    return (this.#jar.serializeSync()?.cookies ?? []).map((entry) => entry.value ?? '');
  }
}

/** The cookie agent writes an empty header where it has no cookie; gateways may take that for an attack. */
function withoutEmptyCookie(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) => {
    const { headers } = options;
    if (headers === null || headers === undefined || Array.isArray(headers) || Symbol.iterator in headers) {
      return dispatch(options, handler);
    }
    if (!('cookie' in headers) || headers['cookie'] !== '') return dispatch(options, handler);
    const { cookie: _empty, ...rest } = headers;
    return dispatch({ ...options, headers: rest }, handler);
  };
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
