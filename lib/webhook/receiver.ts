import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RoundRobin } from '../concurrency/fair-queue';
import { KeyedSemaphore, type Release } from '../concurrency/semaphore';
import { CancelToken } from '../concurrency/signals';
import { lenientTimeout, sleep, withTimeout } from '../concurrency/timers';
import type { Acceptance } from '../inbox/model';
import { jsonOf } from '../message/body';
import { meter, secondsSince } from '../meter';
import { type Endpoint, type Middleware, type Ready, ReadyEndpoints, type RequestOrigin } from './endpoint';
import { type ClockGuard, judge, type Judgement, recordOf } from './judge';
import { MAX_UNANSWERED, Pipelines, SenderQueues } from './pipelined-requests';
import { meteredAs, toldReason } from './problem';
import { authorizationLines, type RawMessage } from './proof/authenticate';
import type { ProofThread } from './proof/proof-thread';
import { onlyStation, type ReadyStations, unreadyReason } from './proof/receiving-station';
import { provenTimesOf } from './proven-times';
import { LARGE_BODY, type WorkerProofError, Prover } from './prover';
import type { Quarantine } from './quarantine';
import { RateLimiter } from './rate-limits';
import type { Reporter } from './reporter';
import {
  BODY_LIMIT,
  readRawBody,
  checkHead,
  mayHideHeaders,
  type Senders,
  SlowRequestGuard,
} from './request';

/** Bounds of the receiver. */
export interface ReceiverLimits {
  /** Longest wait for what is needed to judge a request, in milliseconds. Default 3,000. */
  holdMs: number;
  /** Latest time for the inbox to store a message, in milliseconds; the time of a hold is part of it. Default 4,000. */
  commitMs: number;
  /** Longest body, in bytes. Default 1 MiB. */
  bodyLimit: number;
  /** Time for a whole body, in milliseconds. Default 10,000. */
  bodyDeadlineMs: number;
  /** Complete requests judged or stored at a time. Default 100. */
  capacity: number;
}

const LIMITS: ReceiverLimits = {
  holdMs: 3000,
  commitMs: 4000,
  bodyLimit: BODY_LIMIT,
  bodyDeadlineMs: 10_000,
  capacity: 100,
};

interface ReceiverOptions extends Partial<ReceiverLimits> {
  /** Wall clock, in milliseconds. */
  now: () => number;
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number;
  proofThread: ProofThread;
  senders: Senders;
  clockGuard: ClockGuard;
  quarantine: Quarantine;
  reporter: Reporter;
}

const STORE_RETRY = 250;
/** Large bodies of a path that are searched for a token in each second. */
const LARGE_BODIES_PER_SECOND = 2;
/** Memory for unfinished bodies; and for the bodies of one path that wait or are judged. In bytes. */
const BODY_BYTES = 32 * 1024 * 1024;

/**
 * The answer policy: 200 once the event is stored, 401 for what is not proven, and no answer at all while it can neither judge
 * nor store, because only that makes the service send again (specification, section 6).
 */
export class WebhookReceiver {
  readonly #options: ReceiverOptions & ReceiverLimits;
  readonly #permits: KeyedSemaphore;
  readonly #connectionEnds = new ConnectionEnds();
  readonly #closing = new CancelToken();
  readonly #unfinished: SlowRequestGuard;
  readonly #largeBodies: RateLimiter;
  readonly #proofs: Prover;
  readonly #ready = new ReadyEndpoints();
  readonly #senderQueues: SenderQueues;
  readonly #turns = new RoundRobin();
  /** Pipelines of the servers that this receiver serves. */
  readonly pipelines: Pipelines;

  constructor(options: ReceiverOptions) {
    this.#options = { ...LIMITS, ...options };
    const { senders, monotonic, reporter } = options;
    this.#senderQueues = new SenderQueues(senders, monotonic);
    this.pipelines = new Pipelines(this.#senderQueues, this.#turns, () => {
      meter()?.answered('cut');
      reporter.log('pipelined', PIPELINED);
    });
    this.#permits = new KeyedSemaphore(this.#options.capacity, BODY_BYTES);
    this.#largeBodies = new RateLimiter(LARGE_BODIES_PER_SECOND, monotonic);
    this.#proofs = new Prover(options.proofThread);
    this.#unfinished = new SlowRequestGuard({
      maxHeld: BODY_BYTES,
      senders,
      monotonic,
      onCut: () => reporter.log('unfinished', UNFINISHED),
    });
  }

  /** Handles a request on a webhook path until its end. */
  receive(req: IncomingMessage, res: ServerResponse, target: Target): void {
    if (this.#closed) return cut(req);
    this.pipelines.began(req, res);
    if (mayHideHeaders(req)) return answer(req, res, 'head');
    const refusal = checkHead(req, this.#options.bodyLimit);
    if (refusal === 'large') this.#logLarge(req, target, `declared ${req.headers['content-length'] ?? ''}`);
    if (refusal !== undefined) {
      meter()?.answered(refusal);
      return answer(req, res, refusal);
    }
    this.#read(req, res, target).catch(() => this.#giveUp(req, UNEXPECTED));
  }

  /** Gives up held requests at once, and cuts new ones. A message that is being stored is still answered. */
  close(): void {
    this.#closing.abort(new Error('The receiver was closed.'));
  }

  get #closed(): boolean {
    return this.#closing.reason !== undefined;
  }

  async #read(req: IncomingMessage, res: ServerResponse, target: Target): Promise<void> {
    const { bodyLimit, bodyDeadlineMs } = this.#options;
    const unfinished = this.#unfinished.add(req.socket, this.#senderOf(req));
    const limits = { bytes: bodyLimit, deadline: bodyDeadlineMs };
    const reading = await readRawBody(req, limits, (bytes) => this.#unfinished.grow(unfinished, bytes));
    this.#unfinished.remove(unfinished);
    switch (reading.kind) {
      case 'complete': {
        const request = this.#completed(req, res, target, reading.body);
        return this.#turns.run(this.#senderQueues.of(req), () => void this.#process(request));
      }
      case 'too-large':
        this.#logLarge(req, target, `over ${bodyLimit}`);
        meter()?.answered('large');
        return answer(req, res, 'large');
      case 'too-slow':
        // Cut, because an answer would be final: a busy process may have let the time run out.
        return this.#giveUp(req, `its body took longer than ${bodyDeadlineMs / 1000} s`);
      case 'missing':
        return this.#missBody(req, target.endpoint());
      case 'aborted':
        // The sender has gone away before the end: nothing is stored, and an answer would reach no one.
        meter()?.answered('aborted');
        return cut(req);
    }
  }

  #completed(req: IncomingMessage, res: ServerResponse, target: Target, body: Buffer): CompleteRequest {
    const { now, monotonic, holdMs, commitMs } = this.#options;
    const at = monotonic();
    const endings = (): CancelToken[] => [this.#closing, this.#connectionEnds.of(req.socket)];
    const hold = new RequestHold(at + holdMs, monotonic, endings);
    const origin = { received: new Date(now()), remoteAddress: this.#senderOf(req) };
    return {
      req,
      res,
      target,
      body,
      completeAt: performance.now(),
      origin,
      hold,
      commitUntil: at + commitMs,
    };
  }

  /**
   * A complete request to its end: permit, endpoint, proof, inbox, answer. Never rejects. It waits only where it has to, because
   * what it does before the first wait counts as time of its sender.
   */
  async #process(request: CompleteRequest): Promise<void> {
    const { req, res, target, body, origin, hold, commitUntil } = request;
    const timeLeft = (): number => commitUntil - this.#options.monotonic();
    let release: Release | undefined;
    let decided: (() => void) | undefined;
    try {
      // Only now: a request that waits for the rest of its body would block others.
      const permit = this.#permits.acquire(target.path, {
        bytes: body.buffer.byteLength,
        queue: this.#senderQueues.of(req),
        ending: () => hold.ending,
      });
      release = permit instanceof Promise ? await permit : permit;
      if (release === undefined) return this.#giveUp(req, 'too many requests are under way');

      const current = target.endpoint() ?? (await hold.until(target.endpoint, target.watch));
      if (current === undefined) return this.#giveUp(req, 'its webhook node is not running');
      if (current.middleware !== undefined) {
        const outcome = await runMiddleware(current.middleware, { req, res }, timeLeft());
        if (outcome === 'answered') return meter()?.answered('middleware');
        if (outcome === 'failed') return this.#giveUp(req, 'httpNodeMiddleware failed');
      }
      const look = (): Ready | undefined => this.#ready.of(target.endpoint());
      const found = look() ?? (await hold.until(look, target.watch));
      if (found === undefined) return this.#giveUp(req, unreadyReason(target.endpoint()?.stations()));
      const { endpoint, stations } = found;
      const provenTimes = provenTimesOf(endpoint.inbox);
      // The other half of the time is for the inbox.
      if (!provenTimes.isReady) await provenTimes.ready(timeLeft() / 2);

      const message = { body, authorization: authorizationLines(req.rawHeaders), json: jsonOf(body) };
      let authentication = this.#proofs.proveInline(message, stations.ready);
      if (authentication === undefined) {
        if (this.#isCostly(target, body, stations)) return this.#giveUp(req, WHY_UNDECIDED.crowded);
        const proof = await this.#proofs.proveInWorker(target.path, message, stations.ready, hold.ending);
        decided = proof.decided;
        if ('fault' in proof) return this.#giveUp(req, WHY_UNDECIDED[proof.fault]);
        authentication = proof.authentication;
      }
      const { clockGuard } = this.#options;
      const judgement = judge(message, authentication, { endpoint, origin, clockGuard, provenTimes });
      if (judgement.kind === 'unauthentic') {
        if (stations.hasUnready) return this.#giveUp(req, unreadyReason(endpoint.stations()));
        return this.#refuse(request, endpoint, message, judgement);
      }
      this.pipelines.proven(req);
      const earlier = this.#proofs.proven(target.path, message, judgement);
      if (earlier !== undefined) await earlier;

      const record = recordOf(judgement);
      const storing = this.#store(request, () => endpoint.inbox.accept(record));
      // It was passed to the inbox, so later messages of its alarm may follow.
      decided?.();
      const acceptance = await storing;
      if (acceptance === undefined) return this.#giveUp(req, 'the inbox could not store it in time');
      answer(req, res, 'accepted');
      const problem = this.#options.reporter.accepted(endpoint, record, acceptance, body.length);
      const seconds = secondsSince(request.completeAt);
      meter()?.answered(meteredAs(problem, acceptance, record), record.stationKey, seconds);
    } catch {
      this.#giveUp(req, UNEXPECTED);
    } finally {
      decided?.();
      release?.();
      hold.release();
    }
  }

  /** Where a token may be the proof, a body is searched for it before anything is proven, and that is slow for a large body. */
  #isCostly({ path }: Target, { length }: Buffer, { ready }: ReadyStations): boolean {
    if (length <= LARGE_BODY || ready.every(({ scheme }) => scheme !== 'https')) return false;
    return !this.#largeBodies.pass(path);
  }

  #refuse(
    { req, res, body, origin }: CompleteRequest,
    endpoint: Endpoint,
    message: RawMessage,
    { reason, leaked }: Judgement & { kind: 'unauthentic' },
  ): void {
    const { reporter, quarantine } = this.#options;
    answer(req, res, 'unauthentic');
    meter()?.answered('unauthentic', onlyStation(endpoint.stations())?.key);
    reporter.unauthentic(endpoint, toldReason(reason, body), { bytes: body.length, ...origin });
    if (leaked !== undefined) reporter.leaked(leaked);
    quarantine.keep(endpoint, message, origin, reason);
  }

  /**
   * Tries again while the request may be held: if a try that seemed to fail did store the message, the next one is a repeat.
   */
  async #store(
    { hold, commitUntil }: CompleteRequest,
    accept: () => Promise<Acceptance>,
  ): Promise<Acceptance | undefined> {
    for (;;) {
      try {
        return await withTimeout(accept(), commitUntil - this.#options.monotonic());
      } catch {
        if (this.#closed || hold.timeLeft < STORE_RETRY) return undefined;
        await sleep(STORE_RETRY);
      }
    }
  }

  /** The exact bytes are lost, so a hold would not help; the resend meets the same fault, visibly. */
  #missBody(req: IncomingMessage, endpoint: Endpoint | undefined): void {
    const request = {
      received: new Date(this.#options.now()),
      bytes: 0,
      remoteAddress: this.#senderOf(req),
    };
    if (endpoint !== undefined) this.#options.reporter.unauthentic(endpoint, 'raw-body-missing', request);
    this.#giveUp(req, 'something in front of the webhook has read its body');
  }

  #giveUp(req: IncomingMessage, why: string): void {
    const wasThere = !req.socket.destroyed;
    cut(req);
    meter()?.answered('cut');
    if (wasThere && !this.#closed) {
      this.#options.reporter.log(why, `A webhook request was left without an answer, because ${why}.`);
    }
  }

  #senderOf(req: IncomingMessage): string | undefined {
    return this.#options.senders.addressOf(req);
  }

  #logLarge(req: IncomingMessage, { path }: Target, size: string): void {
    const source = this.#senderOf(req) ?? 'an unknown address';
    const line = `A webhook request from ${source} to ${path} was refused: ${size} bytes.`;
    this.#options.reporter.log(`large ${path}`, line);
  }
}

const UNEXPECTED = 'it could not be dealt with';
const UNFINISHED = 'A webhook request that did not come to its end was cut, to make room for others.';
const PIPELINED = `A connection was cut, because more than ${MAX_UNANSWERED} webhook requests came on it at once, and none of the first was proven.`;

const WHY_UNDECIDED: Record<WorkerProofError, string> = {
  crowded: 'too many large bodies came at a time',
  'too-late': 'its large body could not be proven in time',
  'thread-ended': 'the thread that proves large bodies has ended',
};

/** Subscribes to changes; returns a function that ends the subscription. */
type Watch = (changed: () => void) => () => void;

/**
 * The time for which one request may be held, at all its waits together. A request that need not wait costs neither a timer nor
 * a listener. One that waits has a single timer and does not poll: it is called back at each change.
 */
class RequestHold {
  #ending: CancelToken | undefined;
  #releases: (() => void)[] = [];

  /**
   * @param end of the hold at the latest, in milliseconds of the monotonic clock
   * @param endings tokens that end the hold before; called only where a request has to wait
   */
  constructor(
    private readonly end: number,
    private readonly monotonic: () => number,
    private readonly endings: () => readonly CancelToken[],
  ) {}

  /** Aborted when the hold ends. */
  get ending(): CancelToken {
    return (this.#ending ??= this.#begin());
  }

  /** Milliseconds left; negative once the hold is over. */
  get timeLeft(): number {
    return this.end - this.monotonic();
  }

  /**
   * Returns the result of `look`, now or after a change; undefined where the hold ends before. After a change `look` is called
   * when all listeners have been called, but within the same turn of the event loop.
   */
  async until<Found>(look: () => Found | undefined, watch: Watch): Promise<Found | undefined> {
    for (;;) {
      const found = look();
      if (found !== undefined || this.ending.reason !== undefined) return found;
      await this.#change(watch);
    }
  }

  /** To be called when the request no longer waits: removes the timer and the listeners. */
  release(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  #begin(): CancelToken {
    const ending = new CancelToken();
    const end = (reason: Error): void => ending.abort(reason);
    const timer = lenientTimeout(() => end(new Error('It was held for too long.')), this.timeLeft);
    const endings = this.endings().map((other) => other.onAbort(end));
    this.#releases = [() => clearTimeout(timer), ...endings];
    return ending;
  }

  /** Resolves at the next change, or when the hold ends. */
  #change(watch: Watch): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        endWatch();
        endListening();
        resolve();
      };
      const endWatch = watch(goOn);
      const endListening = this.ending.onAbort(goOn);
    });
  }
}

/** A path that the receiver answers for. */
interface Target {
  path: string;
  /** The current endpoint of the path. */
  endpoint: () => Endpoint | undefined;
  /** Calls back when the endpoint, or what it judges by, may have changed. */
  watch: Watch;
}

/** A request whose body is complete. */
interface CompleteRequest {
  req: IncomingMessage;
  res: ServerResponse;
  target: Target;
  body: Buffer;
  origin: RequestOrigin;
  /** When the last byte came, as of `performance.now()`. */
  completeAt: number;
  hold: RequestHold;
  /** Monotonic time after which a commit is too late. */
  commitUntil: number;
}

/**
 * Tokens for the end of connections. Each connection has one listener, however many of its requests wait: Node warns of a leak
 * at more than ten, and a sender may have sent more requests in a row.
 */
class ConnectionEnds {
  readonly #ends = new WeakMap<Socket, CancelToken>();

  /** Aborted when this connection ends. */
  of(socket: Socket): CancelToken {
    const known = this.#ends.get(socket);
    if (known !== undefined) return known;
    const end = new CancelToken();
    const ended = (): void => end.abort(new Error('The connection has ended.'));
    if (socket.closed) ended();
    else socket.once('close', ended);
    this.#ends.set(socket, end);
    return end;
  }
}

/** Most time, and most bytes, for which an unread body is drained before the connection closes. */
const LINGER_MS = 2000;
const LINGER_BYTES = 8 * 1024 * 1024;

interface Answer {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

/** The answers of the receiver. All are constant, so that they reveal nothing to an outsider. */
const ANSWERS = {
  accepted: { status: 200, body: '{"ok":true}' },
  unauthentic: {
    status: 401,
    body: '{"error":"not authentic"}',
    headers: { 'WWW-Authenticate': 'HMAC-SHA256' },
  },
  method: { status: 405, body: '{"error":"only POST"}', headers: { Allow: 'POST' } },
  large: { status: 413, body: '{"error":"body too large"}', headers: { Connection: 'close' } },
  compressed: { status: 415, body: '{"error":"compressed body"}' },
  malformed: { status: 400, body: '{"error":"malformed request"}', headers: { Connection: 'close' } },
  unknown: { status: 404, body: '{"error":"not found"}' },
  works: { status: 200, body: '{"ok":true}', headers: { 'Cache-Control': 'no-store' } },
  'works-not': { status: 503, body: '{"ok":false}', headers: { 'Cache-Control': 'no-store' } },
  'not-get': { status: 405, body: '{"error":"only GET"}', headers: { Allow: 'GET, HEAD' } },
  head: { status: 431, body: '{"error":"too many headers"}', headers: { Connection: 'close' } },
} satisfies Record<string, Answer>;

export type AnswerName = keyof typeof ANSWERS;

/** Status and headers of an answer, for a flow that answers itself. */
export function headOf(name: AnswerName): Pick<Answer, 'status' | 'headers'> {
  return ANSWERS[name];
}

/** Answers a request. Where its body was not read to the end, the connection closes after the answer. */
export function answer(req: IncomingMessage, res: ServerResponse, name: AnswerName): void {
  if (res.headersSent || res.destroyed) return;
  const { status, body, headers }: Answer = ANSWERS[name];
  const unread = hasBody(req) && !req.complete;
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
    ...(unread && { Connection: 'close' }),
  });
  if (!unread) {
    res.end(body);
    return;
  }
  res.write(body);
  linger(req, res);
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

/**
 * Drains the rest of the body before the connection is closed. If closed at once, the connection would be reset, and a sender
 * that is still writing would never see the answer.
 */
function linger(req: IncomingMessage, res: ServerResponse): void {
  let bytes = 0;
  const finish = (): void => {
    clearTimeout(timer);
    req.off('data', onData);
    res.end();
  };
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) finish();
  };
  const timer = setTimeout(finish, LINGER_MS);
  req.on('error', () => undefined);
  req.once('close', finish);
  req.once('end', finish);
  req.on('data', onData);
}

/**
 * Ends the connection without an answer: for the sender a connection error, the one case for which the service promises a
 * resend (specification, section 6).
 */
function cut(req: IncomingMessage): void {
  req.socket.destroy();
}

/** `passed`: judge the request. `answered`: the middleware refused it. `failed`: timeout or error. */
type MiddlewareOutcome = 'passed' | 'answered' | 'failed';

/** @param duration timeout in milliseconds */
async function runMiddleware(
  middleware: Middleware,
  exchange: { req: IncomingMessage; res: ServerResponse },
  duration: number,
): Promise<MiddlewareOutcome> {
  const { req, res } = exchange;
  // The flag by which Express body parsers know that a body has been read; they would fail on the empty
  // stream.
  Object.assign(req, { _body: true });
  const handedOn = new Promise<MiddlewareOutcome>((resolve, reject) => {
    res.once('close', () => resolve('answered'));
    res.once('finish', () => resolve('answered'));
    const next = (error?: unknown): void =>
      resolve(error === undefined || error === null ? 'passed' : 'failed');
    // Express 4 leaves the rejection of an asynchronous function unhandled, which would end Node-RED.
    Promise.resolve(middleware(req, res, next)).catch(reject);
  });
  const outcome = await withTimeout(handedOn, duration).catch(() => undefined);
  return outcomeOf(outcome ?? 'failed', res);
}

/** A finished answer is the middleware's; an answer that was only begun cannot be completed by anyone else. */
function outcomeOf(outcome: MiddlewareOutcome, res: ServerResponse): MiddlewareOutcome {
  if (res.writableEnded) return 'answered';
  if (res.headersSent) return outcome === 'answered' ? 'answered' : 'failed';
  // The answer of the receiver has a `Content-Length`.
  res.removeHeader('Transfer-Encoding');
  return outcome;
}
