import { cookie } from 'http-cookie-agent/undici';
import { CookieJar } from 'tough-cookie';
import { request, type Dispatcher } from 'undici';
import { RvmError } from '../error';
import { Answer } from './answer';
import { CookieRotation } from './cookie-rotation';
import { Connections, type ConnectionOptions } from './connection/connections';
import { abortError, type Operation } from './operation';
import type { Origins, TrustedUrl } from './origin';
import { RateLimits } from './rate-limits';
import { pauseAfter } from './retry';
import type { StationTiming } from './timing';
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
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: TrustedUrl;
  /** What is being followed, for errors. */
  relation: string;
  accept?: string;
  body?: RequestBody;
}

export interface RequestBody {
  type: string;
  bytes: string | Buffer;
}

export function jsonBody(value: unknown): RequestBody {
  return { type: 'application/json', bytes: JSON.stringify(value) };
}

/** What only a proxy answers. */
const PROXY_LOGIN = 407;
const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Those that say that the request was not carried out, and is to be sent elsewhere as it is. */
const ELSEWHERE: ReadonlySet<number> = new Set([307, 308]);

/** The connections to the service, shared by all sessions of one Central Station. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #timing: StationTiming;
  readonly #connections: Connections;
  readonly #underWay = new Set<AbortController>();
  readonly limits = new RateLimits();
  #closed = false;

  /** @throws RvmError CONFIG_MISSING for TLS or proxy settings that cannot be used. */
  constructor(options: TransportOptions, timing: StationTiming) {
    this.#options = options;
    this.#timing = timing;
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
    { attempt, dispatcher, cookies }: { attempt: number; dispatcher: Dispatcher; cookies: () => string[] },
  ): Promise<Answer> {
    return this.#abortable(operation, wanted.relation, async (abort) => {
      operation.countRequest();
      try {
        const answer = await this.#exchange(wanted, dispatcher, abort, attempt);
        const fault = answer.status === PROXY_LOGIN ? this.#connections.refusedLogin(wanted.url) : undefined;
        if (fault !== undefined) throw fault;
        return new Answer({ ...answer, secrets: () => [...this.#options.secrets, ...cookies()] });
      } catch (error) {
        throw transportError(error, wanted.relation, attempt);
      }
    });
  }

  /**
   * The answer to a request, tried more often where that does no harm: a GET that may succeed the next time, and none that
   * the service has asked to wait with for long.
   * @param once one attempt
   * @throws RvmError RATE_LIMITED, and what the last attempt throws
   */
  async withRetries(
    operation: Operation,
    { method, relation }: ServiceRequest,
    once: (attempt: number) => Promise<Answer>,
  ): Promise<Answer> {
    const { longestWaitMs } = this.#timing;
    for (let attempt = 1; ; attempt += 1) {
      const limit = this.limits.against(relation);
      if (limit !== undefined) {
        if (method !== 'GET' || operation.once || limit.ms > longestWaitMs) throw limit.error;
        await this.#pause(operation, relation, limit.ms);
      }
      const outcome = await once(attempt).catch(asError);
      if (outcome instanceof Answer) this.limits.note(outcome);
      const again = method === 'GET' && !operation.once;
      const pause = again ? pauseAfter(outcome, attempt, this.#timing) : undefined;
      if (pause === undefined) {
        if (outcome instanceof Answer) return outcome;
        throw outcome;
      }
      await this.#pause(operation, relation, pause);
    }
  }

  #pause(operation: Operation, relation: string, ms: number): Promise<void> {
    return this.#abortable(
      operation,
      relation,
      ({ signal }) =>
        new Promise((resolve, reject) => {
          const timer = setTimeout(resolve, ms);
          signal.addEventListener('abort', () => {
            clearTimeout(timer);
            reject(asError(signal.reason));
          });
        }),
    );
  }

  /** Runs what both the caller and `close` may end. */
  async #abortable<T>(
    operation: Operation,
    relation: string,
    work: (abort: AbortController) => Promise<T>,
  ): Promise<T> {
    if (this.#closed) throw closedError(relation);
    operation.checkAlive();
    const abort = new AbortController();
    const onAbort = (): void => {
      if (operation.signal !== undefined) abort.abort(abortError(operation.signal));
    };
    operation.signal?.addEventListener('abort', onAbort);
    this.#underWay.add(abort);
    try {
      return await work(abort);
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

  async #exchange(wanted: ServiceRequest, dispatcher: Dispatcher, abort: AbortController, attempt: number) {
    const timedOut = (): void => abort.abort(timeoutError(wanted.relation, attempt));
    const timer = setTimeout(timedOut, this.#options.timeoutMs);
    try {
      const response = await request(wanted.url, {
        dispatcher,
        method: wanted.method,
        headers: this.#headers(wanted),
        signal: abort.signal,
        ...(wanted.body === undefined ? {} : { body: wanted.body.bytes }),
      });
      return {
        status: response.statusCode,
        url: wanted.url,
        relation: wanted.relation,
        headers: response.headers,
        body: Buffer.from(await response.body.arrayBuffer()),
        attempt,
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
      ...(wanted.body === undefined ? {} : { 'Content-Type': wanted.body.type }),
    };
  }
}

/** Requests that share one cookie jar. */
export class HttpSession {
  readonly #transport: Transport;
  readonly #origins: Origins;
  readonly #jar: CookieJar;
  readonly #dispatcher: Dispatcher;
  readonly #rotation = new CookieRotation(() => this.#cookies().join('\n'));

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
   * As `Transport.withRetries`; redirects of a GET are followed, and those of others that say they were not carried out,
   * each hop only to an origin we trust. Others are given back as they are.
   * @throws RvmError UNTRUSTED_LINK as well
   */
  exchange(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    return this.#transport.withRetries(operation, wanted, (attempt) =>
      this.#rotation.send(operation, () => this.#followRedirects(operation, wanted, attempt)),
    );
  }

  async #followRedirects(operation: Operation, wanted: ServiceRequest, attempt: number): Promise<Answer> {
    const followed = wanted.method === 'GET' ? REDIRECTS : ELSEWHERE;
    let url = wanted.url;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const answer = await this.#transport.send(
        operation,
        { ...wanted, url },
        { attempt, dispatcher: this.#dispatcher, cookies: () => this.#cookies() },
      );
      if (!followed.has(answer.status) || answer.location === undefined) return answer;
      url = this.#origins.resolve(answer.location, answer.url, wanted.relation);
    }
    throw new RvmError(
      'BAD_RESPONSE',
      'The service redirects without end; check the base URL of the cloud.',
      { relation: wanted.relation, attempts: attempt },
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

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
