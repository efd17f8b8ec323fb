import type { RvmError } from '../../error';
import { Abort } from '../../concurrency/abort';
import { Answer, type Headers } from './answer';
import { READABLE_CODINGS, unpacked, type UnreadableBody } from './content-coding';
import { Connections, MAX_CONNECTIONS, type ConnectionOptions } from './connection/connections';
import { roundTrip, type RawAnswer } from './connection/round-trip';
import { DIALECT } from '../dialect';
import type { Operation } from '../operation';
import type { TrustedUrl } from './origin';
import { Places, takeAll, takeAllFree } from '../../concurrency/places';
import { RateLimits } from './rate-limits';
import type { SessionCookies } from './session-cookies';
import type { StationTiming } from '../timing';
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
  /** Taken, once, where the resource says that it takes this method and not the other; the request must do no more by it. */
  otherMethod?: 'POST';
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
/** The order of those who wait: the session before all else, then what stands between an alarm and its video, then others. */
const RANKS = { session: 0, urgent: 1, other: 2 } as const;
/** By rank. Others leave some places free: snapshots of cameras that do not answer keep no alarm from its video. */
const KEPT = [0, 0, 8];
/** A request waits in line for so many times as long as it may take. */
const PATIENCE = 3;

/** An answer, unpacked, and the values of the cookies that its request had. */
interface Exchanged extends Omit<RawAnswer, 'body'> {
  body: Buffer | UnreadableBody;
  sent: readonly string[];
}

/** How a session wants a request sent. */
interface Via {
  attempt: number;
  cookies: SessionCookies;
  /** Where the session sends one request at a time. */
  line: Places | undefined;
}

/** The connections to the service, shared by all sessions of one Central Station. */
export class Transport {
  readonly timing: StationTiming;
  readonly #options: TransportOptions;
  readonly #connections: Connections;
  readonly #closing = new Abort();
  readonly #places = new Places(MAX_CONNECTIONS, KEPT);
  /** Shared by all sessions, for the service counts by client. */
  readonly limits = new RateLimits();
  #lastSentAt = -Infinity;

  /** @throws RvmError CONFIG_MISSING for TLS or proxy settings that cannot be used. */
  constructor(options: TransportOptions, timing: StationTiming) {
    this.#options = options;
    this.timing = timing;
    this.#connections = new Connections(options);
  }

  /** When a request was last sent, as of `performance.now()`. */
  get lastSentAt(): number {
    return this.#lastSentAt;
  }

  /**
   * Sends one request and reads the whole answer, whatever its status.
   * @throws RvmError NETWORK, TIMEOUT, TLS, BAD_RESPONSE, CANCELLED
   */
  async send(operation: Operation, wanted: ServiceRequest, via: Via): Promise<Answer> {
    const { abort, end } = this.#begin(operation, wanted.relation);
    try {
      const received = await this.#exchange(operation, wanted, via, abort);
      const fault = received.status === PROXY_LOGIN ? this.#connections.refusedLogin(wanted.url) : undefined;
      if (fault !== undefined) throw fault;
      return new Answer({
        status: received.status,
        headers: received.headers,
        body: received.body,
        url: wanted.url,
        relation: wanted.relation,
        attempt: via.attempt,
        // It may repeat the cookies of its request and bring others.
        secrets: () => this.#secrets(received.sent, via.cookies),
      });
    } catch (error) {
      throw transportError(error, wanted, via.attempt);
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
  #begin(operation: Operation, relation: string): { abort: Abort; end: () => void } {
    if (this.#closing.reason !== undefined) throw closedError(relation);
    operation.checkAlive();
    const abort = new Abort();
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

  async #exchange(operation: Operation, wanted: ServiceRequest, via: Via, abort: Abort): Promise<Exchanged> {
    const places = via.line === undefined ? [this.#places] : [via.line, this.#places];
    const leave = takeAllFree(places, rankOf(wanted)) ?? (await this.#wait(wanted, places, abort));
    return abortAfter(this.#options.timeoutMs, abort, {
      late: () => timeoutError(wanted, via.attempt),
      work: () => this.#request(operation, wanted, via.cookies, { abort, leave }),
    });
  }

  #wait(wanted: ServiceRequest, places: readonly Places[], abort: Abort): Promise<() => void> {
    return abortAfter(PATIENCE * this.#options.timeoutMs, abort, {
      late: () => notSent(wanted),
      work: () => takeAll(places, rankOf(wanted), abort),
    });
  }

  /** @param leave called when it has ended: until then, also when nobody waits for it any more, it holds a connection */
  #request(
    operation: Operation,
    wanted: ServiceRequest,
    cookies: SessionCookies,
    { abort, leave }: { abort: Abort; leave: () => void },
  ): Promise<Exchanged> {
    const { admit, url, method, body } = wanted;
    const onHead = ({ 'set-cookie': setCookie }: Headers): void => {
      if (setCookie !== undefined) cookies.keep(setCookie, url);
    };
    try {
      admit?.();
      // Not before: one that its session left behind in the line, or that nobody waits for any more, never goes out.
      operation.countRequest();
      this.#lastSentAt = performance.now();
      const sent = cookies.values;
      const headers = this.#headers(wanted, cookies.headerFor(url));
      const path = url.pathname + url.search;
      const request = { origin: url.origin, path, method, headers, body: body?.bytes ?? null };
      const received = roundTrip(this.#connections.dispatcher, request, abort, { onHead, onEnd: leave });
      return received.then(async (answer) => {
        const coding = answer.headers['content-encoding'];
        const body = await unpacked(answer.body, coding, () => this.#secrets(sent, cookies));
        return { ...answer, body, sent };
      });
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** What an answer must not repeat to anybody. */
  #secrets(sent: readonly string[], cookies: SessionCookies): string[] {
    return [...this.#options.secrets, ...sent, ...cookies.values];
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
  abort: Abort,
  { late, work }: { late: () => RvmError; work: () => Promise<T> },
): Promise<T> {
  const timer = setTimeout(() => abort.abort(late()), ms);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
