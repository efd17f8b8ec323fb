import type { Dispatcher } from 'undici';
import { GrowingBuffer } from '../../bytes';
import { type Lock, Semaphore, acquireAll, tryAcquireAll } from '../../concurrency/semaphore';
import { CancelToken } from '../../concurrency/signals';
import { cancellable } from '../../concurrency/timers';
import { RvmError } from '../../error';
import { meter, type Meter, secondsSince } from '../../meter';
import { DIALECT } from '../dialect';
import type { Attempt, Operation } from '../operation';
import type { StationTiming } from '../timing';
import { Answer, type Headers, READABLE_CODINGS, readLargeJson, unpacked, UnreadableBody } from './answer';
import { type ConnectionOptions, ConnectionPool, MAX_CONNECTIONS } from './connection-pool';
import type { TrustedUrl } from './origins';
import { closedError, notSent, type RequestKind, timeoutError, transportError } from './retry-policy';
import type { SessionCookies } from './session-cookies';

interface TransportOptions extends ConnectionOptions {
  key?: string | undefined;
  apiKey: string;
  userAgent: string;
  /** Milliseconds for one request, from connecting to the last byte of the answer. */
  timeoutMs: number;
  /** Texts that no error may repeat: the API key, the password and the like. */
  secrets: readonly string[];
  /** Nothing that an answer says of an error is repeated. */
  quotesNothing?: boolean;
}

export interface ServiceRequest {
  /** What it does that is not seen from its method: a POST is a command unless said. */
  kind?: Exclude<RequestKind, 'command'>;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: TrustedUrl;
  /** What is being followed, for errors. */
  relation: string;
  accept?: string;
  body?: RequestBody;
  /** Taken, once, where the resource says that it takes this method and not the other; the request must do no more by it. */
  otherMethod?: 'POST';
  /** How much of an answer that may have no end is enough: its request ends there. */
  enough?: RoundTripListeners['enough'];
  /** Called when its turn to be sent has come: throws where it shall not be any more. */
  admit?: () => void;
}

export function requestKind({ kind, method }: ServiceRequest): RequestKind {
  return kind ?? (method === 'GET' ? 'GET' : 'command');
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
/** The order of those who wait: the session before all else, then what stands between an alarm and its video, then others. */
const RANKS = { session: 0, urgent: 1, other: 2 } as const;
/** By rank. Others leave some places free: snapshots of cameras that do not answer keep no alarm from its video. */
const KEPT = [0, 0, 8];
/** Answers that are unpacked at a time. */
const UNPACKED_AT_A_TIME = 2;
/** A request waits in line for so many times as long as it may take. */
const PATIENCE = 3;

/** An answer, unpacked, and the values of the cookies that its request had. */
interface Exchanged extends Omit<RawAnswer, 'body'> {
  body: Buffer | UnreadableBody;
  sent: readonly string[];
}

/** How a session wants a request sent. */
interface Via {
  /** Notes how far it comes. */
  attempt: Attempt;
  cookies: SessionCookies;
  /** Those of the session, of whom some go alone. */
  line: Lock;
}

/** The connections to the service, shared by all sessions of one Central Station. */
export class Transport {
  readonly timing: StationTiming;
  /** Under which its requests are counted. */
  readonly key: string | undefined;
  readonly #options: TransportOptions;
  readonly #connections: ConnectionPool;
  readonly #closing = new CancelToken();
  readonly #places = new Semaphore(MAX_CONNECTIONS, KEPT);
  readonly #unpackings = new Semaphore(UNPACKED_AT_A_TIME);
  /** Shared by all sessions, for the service counts by client. */
  readonly limits = new RateLimits();
  #lastSentAt = -Infinity;

  /** @throws RvmError CONFIG_MISSING for TLS or proxy settings that cannot be used. */
  constructor(options: TransportOptions, timing: StationTiming) {
    this.#options = options;
    this.key = options.key;
    this.timing = timing;
    this.#connections = new ConnectionPool(options);
  }

  /** When a request was last sent, as of `performance.now()`. */
  get lastSentAt(): number {
    return this.#lastSentAt;
  }

  /**
   * Sends one request and reads the whole answer, whatever its status.
   * @throws RvmError NETWORK, TIMEOUT, TLS, BAD_RESPONSE, CANCELLED; RATE_LIMITED where the service has asked to be left alone
   */
  async send(operation: Operation, wanted: ServiceRequest, via: Via): Promise<Answer> {
    const { abort, end } = this.#begin(operation, wanted.relation);
    try {
      via.attempt.begin(via.cookies.text);
      this.#checkLimits(wanted);
      const received = await this.#exchange(operation, wanted, via, abort);
      const fault = received.status === PROXY_LOGIN ? this.#connections.refusedLogin(wanted.url) : undefined;
      if (fault !== undefined) throw fault;
      const answer = new Answer({
        largeJson: received.body instanceof UnreadableBody ? undefined : await readLargeJson(received.body),
        status: received.status,
        headers: received.headers,
        body: received.body,
        url: wanted.url,
        relation: wanted.relation,
        attempt: via.attempt.number,
        // It may repeat the cookies of its request and bring others.
        secrets: () => this.#secrets(received.sent, via.cookies),
        quotesNothing: this.#options.quotesNothing === true,
      });
      this.limits.note(answer);
      return answer;
    } catch (error) {
      throw transportError(error, wanted, via.attempt.number);
    } finally {
      end();
    }
  }

  /** @throws RvmError CANCELLED, TIMEOUT where the caller gives up before it is over */
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

  /** What both the caller and `close` may abort, until its end. */
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

  /** Aborts what is under way with CANCELLED and closes every connection. */
  async close(): Promise<void> {
    this.#closing.abort(closedError(''));
    await this.#connections.close();
  }

  async #exchange(
    operation: Operation,
    wanted: ServiceRequest,
    via: Via,
    abort: CancelToken,
  ): Promise<Exchanged> {
    const places = [via.line, this.#places];
    const leave = tryAcquireAll(places, rankOf(wanted)) ?? (await this.#wait(wanted, places, abort));
    return abortAfter(this.#options.timeoutMs, abort, {
      late: () => timeoutError(wanted, via.attempt.number),
      work: () => this.#request(operation, wanted, via, { abort, leave }),
    });
  }

  #wait(wanted: ServiceRequest, places: readonly Lock[], abort: CancelToken): Promise<() => void> {
    return abortAfter(PATIENCE * this.#options.timeoutMs, abort, {
      late: () => notSent(wanted),
      work: () => acquireAll(places, rankOf(wanted), abort),
    });
  }

  /** @param leave called when it has ended: until then, also when nobody waits for it any more, it holds a connection */
  #request(
    operation: Operation,
    wanted: ServiceRequest,
    { attempt, cookies }: Via,
    { abort, leave }: { abort: CancelToken; leave: () => void },
  ): Promise<Exchanged> {
    const { admit, url, method, body, enough } = wanted;
    const onSent = (): void => void (attempt.isSent = true);
    const onHead = ({ 'set-cookie': setCookie }: Headers): void => {
      attempt.isAnswered = true;
      if (setCookie === undefined) return;
      const before = cookies.text;
      cookies.keep(setCookie, url, wanted.kind === 'login');
      attempt.hasChangedCookies ||= cookies.text !== before;
    };
    try {
      admit?.();
      // Asked for again: the answer that limits it may have come while this one waited in line.
      this.#checkLimits(wanted);
      attempt.begin(cookies.text);
      // Not before: one that its session left behind in the line, or that nobody waits for any more, never goes out.
      operation.countRequest();
      this.#lastSentAt = performance.now();
      const sent = cookies.values;
      const headers = this.#headers(wanted, cookies.headerFor(url));
      const path = url.pathname + url.search;
      const request = { origin: url.origin, path, method, headers, body: body?.bytes ?? null };
      const received = roundTrip(this.#connections.dispatcher, request, abort, {
        onSent,
        onHead,
        enough,
        onEnd: leave,
      });
      return received.then(async (answer) => {
        const body = await this.#unpacked(answer, abort, () => this.#secrets(sent, cookies));
        return { ...answer, body, sent };
      });
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Few at a time: a body of some bytes may be one of 32 MiB. One that is given up is unpacked to its end, in its place. */
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

  /** What an answer must not repeat to anybody. */
  #secrets(sent: readonly string[], cookies: SessionCookies): string[] {
    return [...this.#options.secrets, ...sent, ...cookies.values];
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
      // An empty one gateways may take for an attack.
      ...(cookie === '' ? {} : { Cookie: cookie }),
    };
  }
}

function rankOf({ relation }: ServiceRequest): number {
  if (SESSION.has(relation)) return RANKS.session;
  return URGENT.has(relation) ? RANKS.urgent : RANKS.other;
}

/** Aborts what has not ended in time; the error is made only then, for its stack costs more than all else here. */
async function abortAfter<T>(
  ms: number,
  abort: CancelToken,
  { late, work }: { late: () => RvmError; work: () => Promise<T> },
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

/** Who hears of a request before its answer is complete. */
interface RoundTripListeners {
  /** A connection has taken the request. */
  onSent: () => void;
  /** The head of the answer is there. */
  onHead: (headers: AnswerHeaders) => void;
  /** Asked once for an answer, and what it gives for each piece of that: the bytes that are enough, where they are there. */
  enough?: ((headers: AnswerHeaders) => ((body: Buffer) => number | undefined) | undefined) | undefined;
  /** The request no longer holds a connection. */
  onEnd: () => void;
}

/**
 * Sends one request and gathers its whole answer, or as much as is enough, without the stream that the HTTP client's own `request` makes of each body.
 * An abort ends the wait at once; a request that has no connection yet ends when it would get one.
 * @throws what the HTTP client reports, or the reason of the abort
 */
export function roundTrip(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  abort: CancelToken,
  listeners: RoundTripListeners,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const receiver = new ResponseHandler(listeners, resolve, reject);
    abort.onAbort((reason) => receiver.abort(reason));
    dispatcher.dispatch(request, receiver);
  });
}

class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #body = new GrowingBuffer(0);
  #status = 0;
  #enough: ReturnType<NonNullable<RoundTripListeners['enough']>>;
  #headers: AnswerHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;
  #aborted: Error | undefined;
  #ended = false;

  constructor(
    private readonly listeners: RoundTripListeners,
    private readonly resolve: (received: RawAnswer) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  abort(error: Error): void {
    this.#aborted = error;
    this.reject(error);
    this.#controller?.abort(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted === undefined) this.listeners.onSent();
    else controller.abort(this.#aborted);
  }

  onResponseStart(_controller: unknown, status: number, headers: AnswerHeaders): void {
    if (status < 200) return; // More is to come.
    this.#status = status;
    this.#headers = headers;
    this.listeners.onHead(headers);
    this.#enough = this.listeners.enough?.(headers);
  }

  onResponseData(_controller: unknown, piece: Buffer): void {
    this.#body.append(piece);
    const bytes = this.#enough?.(this.#body.content());
    if (bytes === undefined) return;
    this.#resolve(bytes);
    this.#controller?.abort(new Error('What has come is enough.'));
  }

  onResponseEnd(): void {
    this.#end();
    this.#resolve(this.#body.length);
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#end();
    this.reject(error);
  }

  #resolve(bytes: number): void {
    const body = this.#body.content().subarray(0, bytes);
    this.resolve({ status: this.#status, headers: this.#headers, body });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.listeners.onEnd();
  }
}

interface Wanted {
  relation: string;
  url?: URL;
}

interface Quiet {
  readonly until: number;
  readonly error: RvmError;
}

/** These are the same for all cameras. */
const CENTRAL: ReadonlySet<string> = new Set(['system', DIALECT.relations.login, DIALECT.relations.devices]);

/**
 * What the service has asked to be left alone with: after a 429 with `Retry-After` nothing is sent to that address before
 * its time. Others go on, so that a camera that is asked too often keeps no other from its video.
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

  /** What stands against a request: the milliseconds that are left, and the error of the 429. */
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
  return CENTRAL.has(relation) ? relation : (url?.href ?? relation);
}

/** Counts a request while somebody wants to know, until its answer. @param key of the station; undefined: it is not counted */
export function metered(key: string | undefined, sending: Promise<Answer>): Promise<Answer> {
  const counting = meter();
  return key === undefined || counting === undefined ? sending : counted(counting, key, sending);
}

async function counted(counting: Meter, key: string, sending: Promise<Answer>): Promise<Answer> {
  const begun = performance.now();
  try {
    const answer = await sending;
    counting.requested(key, answer.status, secondsSince(begun));
    return answer;
  } catch (error) {
    if (hasGoneOut(error)) counting.requested(key, undefined, secondsSince(begun));
    throw error;
  }
}

/** Not what was held back, or given up in the line. */
function hasGoneOut(error: unknown): boolean {
  if (!(error instanceof RvmError) || error.cause.attempts === 0) return false;
  return error.code !== 'RATE_LIMITED' && error.code !== 'CANCELLED';
}
