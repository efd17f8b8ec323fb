import type { Dispatcher } from 'undici';
import { GrowingBuffer } from '../../bytes';
import { type Lock, Semaphore, acquireAll, tryAcquireAll } from '../../concurrency/semaphore';
import { CancelToken } from '../../concurrency/signals';
import { cancellable } from '../../concurrency/timers';
import type { RvmError } from '../../error';
import { meter, secondsSince } from '../../meter';
import { DIALECT } from '../dialect';
import type { Attempt, Operation } from '../operation';
import type { StationTiming } from '../timing';
import { Answer, type Headers, READABLE_CODINGS, readLargeJson, unpacked, UnreadableBody } from './answer';
import { type ConnectionOptions, ConnectionPool, MAX_CONNECTIONS } from './connection-pool';
import type { TrustedUrl } from './origins';
import { closedError, notSent, type RequestKind, timeoutError, transportError } from './retry-policy';

interface TransportOptions extends ConnectionOptions {
  /** Label of its requests in the metrics; without it they are not counted. */
  key?: string | undefined;
  apiKey: string;
  userAgent: string;
  /** Milliseconds for one request, from connecting to the last byte of the answer. */
  timeoutMs: number;
  /** Texts that no error may repeat: the API key, the password and the like. */
  secrets: readonly string[];
  /** Errors contain nothing of an answer's text. */
  quotesNothing?: boolean;
}

export interface ServiceRequest {
  /** The kind, if the method does not tell it: a POST is a command by default. */
  kind?: Exclude<RequestKind, 'command'>;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: TrustedUrl;
  /** The relation that is followed, for errors. */
  relation: string;
  accept?: string;
  body?: RequestBody;
  /** Used once, if the resource allows only this method and not the other; the request must have no further effect with it. */
  otherMethod?: 'POST';
  /** How much of an endless answer is enough: the request ends there. */
  enough?: RoundTripListeners['enough'];
}

export function requestKind({ kind, method }: ServiceRequest): RequestKind {
  return kind ?? (method === 'GET' ? 'GET' : 'command');
}

export interface RequestBody {
  type: string;
  bytes: string | Buffer;
}

/** Only proxies answer with this status. */
const PROXY_LOGIN = 407;
const { login, devices, dataSources, rtsp, details } = DIALECT.relations;
/** Relations of the requests between an alarm and its video. */
const URGENT: ReadonlySet<string> = new Set([devices, dataSources, rtsp, ...details]);
const SESSION: ReadonlySet<string> = new Set(['system', login]);
/** Priorities in the queue: the session first, then requests between an alarm and its video, then others. */
const RANKS = { session: 0, urgent: 1, other: 2 } as const;
/** By rank: permits that it leaves free. Snapshots of cameras that do not answer cannot delay the video of an alarm. */
const RESERVED_PERMITS = [0, 0, 8];
/** Number of answers that are decompressed at the same time. */
const UNPACKED_AT_A_TIME = 2;
/** A request may be queued for this multiple of its own timeout. */
const QUEUE_TIMEOUT_FACTOR = 3;

/** A decompressed answer, and the values of the cookies in its request. */
interface Exchanged extends Omit<RawAnswer, 'body'> {
  body: Buffer | UnreadableBody;
  sent: readonly string[];
}

/** The cookies of a session. */
interface Cookies {
  readonly text: string;
  readonly values: readonly string[];
  headerFor: (url: URL) => string;
  keep: (setCookie: string | readonly string[], url: URL, isLogin: boolean) => void;
}

/** How a session sends a request. */
interface Via {
  /** Records how far the request gets. */
  attempt: Attempt;
  session: {
    readonly cookies: Cookies;
    /** Throws if a request that has its permit must not be sent any more. */
    admit: (operation: Operation) => void;
  };
  /** The lock of the session, which some requests take exclusively. */
  lock: Lock;
}

/** The connections to the service, shared by all sessions of one Central Station. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #connections: ConnectionPool;
  readonly #closing = new CancelToken();
  readonly #permits = new Semaphore(MAX_CONNECTIONS, RESERVED_PERMITS);
  readonly #unpackings = new Semaphore(UNPACKED_AT_A_TIME);
  /** Shared by all sessions, because the service counts by client. */
  readonly limits = new RateLimits();
  #lastSentAt = -Infinity;

  /** @throws RvmError CONFIG_MISSING for TLS or proxy settings that cannot be used. */
  constructor(
    options: TransportOptions,
    readonly timing: StationTiming,
  ) {
    this.#options = options;
    this.#connections = new ConnectionPool(options);
  }

  /** When a request was last sent, as of `performance.now()`. */
  get lastSentAt(): number {
    return this.#lastSentAt;
  }

  /**
   * Sends one request and reads the whole answer, whatever its status.
   * @throws RvmError NETWORK, TIMEOUT, TLS, BAD_RESPONSE, CANCELLED; RATE_LIMITED while a `Retry-After` of
   *   the service is in force
   */
  async send(operation: Operation, wanted: ServiceRequest, via: Via): Promise<Answer> {
    const { attempt, session } = via;
    const { abort, end } = this.#begin(operation, wanted.relation);
    const begun = performance.now();
    try {
      attempt.begin(session.cookies.text);
      this.#checkLimits(wanted);
      const locks = [via.lock, this.#permits];
      const leave = tryAcquireAll(locks, rankOf(wanted)) ?? (await this.#wait(wanted, locks, abort));
      const late = () => timeoutError(wanted, attempt.number);
      const received = await abortAfter(this.#options.timeoutMs, abort, late, () =>
        this.#request(operation, wanted, via, abort, leave),
      );
      const { status, headers, body, sent } = received;
      const fault = status === PROXY_LOGIN ? this.#connections.refusedLogin(wanted.url) : undefined;
      if (fault !== undefined) throw fault;
      const answer = new Answer({
        largeJson: body instanceof UnreadableBody ? undefined : await readLargeJson(body),
        status,
        headers,
        body,
        url: wanted.url,
        relation: wanted.relation,
        attempt: attempt.number,
        // The answer may repeat the cookies of its request and set others.
        secrets: () => this.#secrets(sent, session.cookies),
        quotesNothing: this.#options.quotesNothing === true,
      });
      this.limits.note(answer);
      this.#count(status, begun);
      return answer;
    } catch (error) {
      const fault = transportError(error, wanted, attempt.number);
      if (hasGoneOut(fault)) this.#count(undefined, begun);
      throw fault;
    } finally {
      end();
    }
  }

  /** @throws RvmError CANCELLED, TIMEOUT if the caller gives up before the end of the pause */
  async pause(operation: Operation, relation: string, ms: number): Promise<void> {
    const { abort, end } = this.#begin(operation, relation);
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        abort.onAbort((reason) => {
          clearTimeout(timer);
          reject(reason);
        });
      });
    } finally {
      end();
    }
  }

  /** A token that the caller or `close` can cancel; `end` disconnects it from both. */
  #begin(operation: Operation, relation: string): { abort: CancelToken; end: () => void } {
    if (this.#closing.reason !== undefined) throw closedError(relation);
    operation.checkAlive();
    const abort = new CancelToken();
    const follow = (reason: Error): void => abort.abort(reason);
    const leaveOperation = operation.onAbort(follow);
    const leaveClosing = this.#closing.onAbort(follow);
    const end = (): void => {
      leaveOperation();
      leaveClosing();
    };
    return { abort, end };
  }

  /** Cancels running requests with CANCELLED and closes every connection. */
  async close(): Promise<void> {
    this.#closing.abort(closedError(''));
    await this.#connections.close();
  }

  #wait(wanted: ServiceRequest, locks: readonly Lock[], abort: CancelToken): Promise<() => void> {
    const ms = QUEUE_TIMEOUT_FACTOR * this.#options.timeoutMs;
    const late = () => notSent(wanted);
    return abortAfter(ms, abort, late, () => acquireAll(locks, rankOf(wanted), abort));
  }

  /**
   * @param leave called when the request has ended: until then it occupies a connection, even if its caller
   *   has given up
   */
  #request(
    operation: Operation,
    wanted: ServiceRequest,
    { attempt, session }: Via,
    abort: CancelToken,
    leave: () => void,
  ): Promise<Exchanged> {
    const { url, method, body, enough } = wanted;
    const { cookies } = session;
    const onSent = (): void => void (attempt.isSent = true);
    const onHead = ({ 'set-cookie': setCookie }: Headers): void => {
      attempt.isAnswered = true;
      if (setCookie === undefined) return;
      const before = cookies.text;
      cookies.keep(setCookie, url, wanted.kind === 'login');
      attempt.hasChangedCookies ||= cookies.text !== before;
    };
    try {
      session.admit(operation);
      // Checked again: the answer that sets the limit may have arrived while this request was queued.
      this.#checkLimits(wanted);
      attempt.begin(cookies.text);
      // Counted only here: a request that became stale in the queue, or whose caller has given up, is never
      // sent.
      operation.countRequest();
      this.#lastSentAt = performance.now();
      const sent = cookies.values;
      const headers = this.#headers(wanted, cookies.headerFor(url));
      const path = url.pathname + url.search;
      const request = { origin: url.origin, path, method, headers, body: body?.bytes ?? null };
      const listeners = { onSent, onHead, enough, onEnd: leave };
      const received = roundTrip(this.#connections.dispatcher, request, abort, listeners);
      return received.then(async (answer) => {
        const body = await this.#unpacked(answer, abort, () => this.#secrets(sent, cookies));
        return { ...answer, body, sent };
      });
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * Few at the same time: a body of some bytes may unpack to 32 MiB. After a cancel it still unpacks to the end, with its
   * permit.
   */
  async #unpacked(
    { headers, body }: RawAnswer,
    abort: CancelToken,
    secrets: () => readonly string[],
  ): Promise<Exchanged['body']> {
    const coding = headers['content-encoding'];
    if (coding === undefined) return body;
    const leave = this.#unpackings.tryAcquire() ?? (await this.#unpackings.acquire(abort));
    return cancellable(abort, Promise.resolve(unpacked(body, coding, secrets)).finally(leave));
  }

  /** Texts of an answer that no error may repeat. */
  #secrets(sent: readonly string[], cookies: Cookies): string[] {
    return [...this.#options.secrets, ...sent, ...cookies.values];
  }

  #count(status: number | undefined, begun: number): void {
    if (this.#options.key !== undefined) meter()?.requested(this.#options.key, status, secondsSince(begun));
  }

  /** @throws RvmError RATE_LIMITED */
  #checkLimits(wanted: ServiceRequest): void {
    const limit = this.limits.against(wanted);
    if (limit !== undefined) throw limit.error;
  }

  #headers(wanted: ServiceRequest, cookie: string): Record<string, string> {
    return {
      ApiKey: this.#options.apiKey,
      'User-Agent': this.#options.userAgent,
      Accept: wanted.accept ?? 'application/json',
      'Accept-Encoding': READABLE_CODINGS,
      ...(wanted.body === undefined ? {} : { 'Content-Type': wanted.body.type }),
      // Gateways may take an empty header for an attack.
      ...(cookie === '' ? {} : { Cookie: cookie }),
    };
  }
}

function rankOf({ relation }: ServiceRequest): number {
  if (SESSION.has(relation)) return RANKS.session;
  return URGENT.has(relation) ? RANKS.urgent : RANKS.other;
}

/** Cancels work that takes too long. The error is created only then, because its stack costs more than all else here. */
async function abortAfter<T>(
  ms: number,
  abort: CancelToken,
  late: () => RvmError,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => abort.abort(late()), ms);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/** Names in lower case. */
type AnswerHeaders = Record<string, string | string[] | undefined>;

/** The whole answer to one request. */
interface RawAnswer {
  status: number;
  headers: AnswerHeaders;
  body: Buffer;
}

/** Callbacks during a request. */
interface RoundTripListeners {
  /** A connection has taken the request. */
  onSent: () => void;
  /** The head of the answer has arrived. */
  onHead: (headers: AnswerHeaders) => void;
  /**
   * Called once per answer. The function it returns is called after each piece, and returns the number of bytes that are
   * enough, once they are there.
   */
  enough?: ((headers: AnswerHeaders) => ((body: Buffer) => number | undefined) | undefined) | undefined;
  /** The request has released its connection. */
  onEnd: () => void;
}

/**
 * Sends one request and collects its whole answer, or as much as is enough, without the stream that the HTTP client's own
 * `request` creates for each body. A cancel ends the wait at once; a request without a connection ends when it would get one.
 * @throws what the HTTP client reports, or the reason of the cancel
 */
export function roundTrip(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  abort: CancelToken,
  { onSent, onHead, enough, onEnd }: RoundTripListeners,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer(0);
    let [status, headers]: [number, AnswerHeaders] = [0, {}];
    let enoughOf: ReturnType<NonNullable<typeof enough>>;
    let controller: Dispatcher.DispatchController | undefined;
    let hasEnded = false;
    const answer = (bytes: number): void =>
      resolve({ status, headers, body: body.content().subarray(0, bytes) });
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      onEnd();
    };
    abort.onAbort((reason) => {
      reject(reason);
      controller?.abort(reason);
    });
    dispatcher.dispatch(request, {
      onRequestStart: (started) => {
        controller = started;
        if (abort.reason === undefined) onSent();
        else started.abort(abort.reason);
      },
      onResponseStart: (_controller, code, received) => {
        if (code < 200) return; // More is to come.
        [status, headers] = [code, received];
        onHead(received);
        enoughOf = enough?.(received);
      },
      onResponseData: (started, piece) => {
        body.append(piece);
        const bytes = enoughOf?.(body.content());
        if (bytes === undefined) return;
        answer(bytes);
        started.abort(new Error('What has come is enough.'));
      },
      onResponseEnd: () => {
        end();
        answer(body.length);
      },
      onResponseError: (_controller, error) => {
        end();
        reject(error);
      },
    });
  });
}

interface Wanted {
  relation: string;
  url?: URL;
}

interface Quiet {
  readonly until: number;
  readonly error: RvmError;
}

/** These relations are the same for all cameras. */
const SAME_FOR_ALL: ReadonlySet<string> = new Set([
  'system',
  DIALECT.relations.login,
  DIALECT.relations.devices,
]);

/**
 * Rate limits of the service: after a 429 with `Retry-After`, nothing is sent to that address before its time. Other addresses
 * are not affected, so that a camera with too many requests does not delay the video of others.
 */
export class RateLimits {
  readonly #quiet = new Map<string, Quiet>();

  note(answer: Answer): void {
    if (answer.status !== 429 || answer.retryAfterMs === undefined) return;
    const now = performance.now();
    for (const [key, quiet] of this.#quiet) if (quiet.until <= now) this.#quiet.delete(key);
    const until = now + answer.retryAfterMs;
    this.#quiet.set(keyOf(answer), { until, error: answer.statusError() });
  }

  /** The limit for a request: the remaining milliseconds, and the error of the 429. */
  against(wanted: Wanted): { ms: number; error: RvmError } | undefined {
    const key = keyOf(wanted);
    const quiet = this.#quiet.get(key);
    if (quiet === undefined) return undefined;
    const ms = Math.ceil(quiet.until - performance.now());
    if (ms > 0) return { ms, error: quiet.error };
    this.#quiet.delete(key);
    return undefined;
  }
}

function keyOf({ relation, url }: Wanted): string {
  return SAME_FOR_ALL.has(relation) ? relation : (url?.href ?? relation);
}

/** False for a request that was held back, or cancelled in the queue. */
function hasGoneOut({ code, cause }: RvmError): boolean {
  return cause.attempts !== 0 && code !== 'RATE_LIMITED' && code !== 'CANCELLED';
}
