import { request, type Dispatcher } from 'undici';
import type { RvmError } from '../error';
import { Answer } from './answer';
import { asError } from './as-error';
import { Connections, MAX_CONNECTIONS, type ConnectionOptions } from './connection/connections';
import { DIALECT } from './dialect';
import { abortError, type Operation } from './operation';
import type { TrustedUrl } from './origin';
import { Places, RANKS, takeAll, type Rank } from './places';
import { RateLimits } from './rate-limits';
import type { StationTiming } from './timing';
import { closedError, notSent, timeoutError, transportError } from './transport-error';

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
  /** Called when its turn to be sent has come: throws where it shall not be any more. */
  admit?: () => void;
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
const { login, devices, dataSources, rtsp, details } = DIALECT.relations;
/** What stands between an alarm and its video. */
const URGENT: ReadonlySet<string> = new Set([devices, dataSources, rtsp, ...details]);
const SESSION: ReadonlySet<string> = new Set(['system', login]);
const KEPT_FOR_URGENT = 8;
/** A request waits in line for so many times as long as it may take. */
const PATIENCE = 3;

/** How a session wants a request sent. */
interface Via {
  attempt: number;
  dispatcher: Dispatcher;
  /** Values of the cookies that it has now. */
  cookies: () => string[];
  /** Where the session sends one request at a time. */
  line: Places | undefined;
}

/** The connections to the service, shared by all sessions of one Central Station. */
export class Transport {
  readonly timing: StationTiming;
  readonly #options: TransportOptions;
  readonly #connections: Connections;
  readonly #underWay = new Set<AbortController>();
  readonly #places = new Places(MAX_CONNECTIONS, KEPT_FOR_URGENT);
  /** Shared by all sessions, for the service counts by client. */
  readonly limits = new RateLimits();
  #closed = false;

  /** @throws RvmError CONFIG_MISSING for TLS or proxy settings that cannot be used. */
  constructor(options: TransportOptions, timing: StationTiming) {
    this.#options = options;
    this.timing = timing;
    this.#connections = new Connections(options);
  }

  get dispatcher(): Dispatcher {
    return this.#connections.dispatcher;
  }

  /**
   * Sends one request and reads the whole answer, whatever its status.
   * @throws RvmError NETWORK, TIMEOUT, TLS, BAD_RESPONSE, CANCELLED
   */
  async send(operation: Operation, wanted: ServiceRequest, via: Via): Promise<Answer> {
    return this.#abortable(operation, wanted.relation, async (abort) => {
      operation.countRequest();
      // An answer may repeat the cookies of its request and bring others.
      const sent = via.cookies();
      try {
        const answer = await this.#exchange(wanted, via, abort);
        const fault = answer.status === PROXY_LOGIN ? this.#connections.refusedLogin(wanted.url) : undefined;
        if (fault !== undefined) throw fault;
        return new Answer({
          ...answer,
          secrets: () => [...this.#options.secrets, ...sent, ...via.cookies()],
        });
      } catch (error) {
        throw transportError(error, wanted, via.attempt);
      }
    });
  }

  /** @throws RvmError CANCELLED, TIMEOUT where the caller gives up before it is over */
  pause(operation: Operation, relation: string, ms: number): Promise<void> {
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

  async #exchange(wanted: ServiceRequest, { attempt, dispatcher, line }: Via, abort: AbortController) {
    const { signal } = abort;
    const { timeoutMs } = this.#options;
    const places = line === undefined ? [this.#places] : [line, this.#places];
    const leave = await within(PATIENCE * timeoutMs, abort, notSent(wanted), () =>
      takeAll(places, rankOf(wanted), signal),
    );
    const work = this.#request(wanted, dispatcher, signal);
    // Not when nobody waits for it any more: until it has ended, it holds a connection.
    work.then(leave, leave);
    const late = timeoutError(wanted, attempt);
    return { ...(await within(timeoutMs, abort, late, () => unlessAborted(work, signal))), attempt };
  }

  async #request(wanted: ServiceRequest, dispatcher: Dispatcher, signal: AbortSignal) {
    wanted.admit?.();
    const response = await request(wanted.url, {
      dispatcher,
      method: wanted.method,
      headers: this.#headers(wanted),
      signal,
      ...(wanted.body === undefined ? {} : { body: wanted.body.bytes }),
    });
    return {
      status: response.statusCode,
      url: wanted.url,
      relation: wanted.relation,
      headers: response.headers,
      body: Buffer.from(await response.body.arrayBuffer()),
    };
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

function rankOf({ relation }: ServiceRequest): Rank {
  if (SESSION.has(relation)) return RANKS.session;
  return URGENT.has(relation) ? RANKS.urgent : RANKS.other;
}

/** Aborts with this error what has not ended in time. */
async function within<T>(
  ms: number,
  abort: AbortController,
  error: RvmError,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => abort.abort(error), ms);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/**
 * An abort ends the wait at once. The HTTP client itself heeds it only when a request has a connection, and drops one that
 * still waits for it when its turn comes.
 */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(asError(signal.reason)));
    work.then(resolve, reject);
  });
}
