import { clampTimerMs } from '../../concurrency/timers';
import { RvmError, type RvmErrorCode } from '../../error';
import { CLOCK_JUMP } from '../../time';
import { DIALECT } from '../dialect';
import type { Answer, Headers } from '../http/answer';
import { closedError, isOutage } from '../http/retry-policy';
import type { RateLimits, ServiceRequest } from '../http/transport';
import { Operation } from '../operation';
import { backoff, jitter, type StationTiming } from '../timing';

/** Looks whether its wait is over. */
type Waiter = () => void;

/**
 * The circuit breaker of one Central Station. It opens after some outages in a row, and at once when a login fails. While it is
 * open nothing is sent but one probe per step of a growing pause, which tries whether the service is back. What an outage has
 * opened is waited for, and the probe that succeeds wakes all who wait; what only a person can cure fails them at once. So the
 * load on a service in trouble does not depend on the number of messages, and a station recovers without any.
 */
class CircuitBreaker {
  readonly #timing: StationTiming;
  readonly #probe: (operation: Operation) => Promise<void>;
  readonly #waiters = new Set<Waiter>();
  #outages = 0;
  #steps = 0;
  #openedBy: RvmError | undefined;
  #notBefore = 0;
  /** When the pause before the next probe began, and when that comes. */
  #restsSince = 0;
  #probeAt = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #probing = false;
  #closed = false;

  /** @param probe asks the service for a sign of life; rejects where there is none */
  constructor(timing: StationTiming, probe: (operation: Operation) => Promise<void>) {
    this.#timing = timing;
    this.#probe = probe;
  }

  /** Whether nothing is to be sent: also while it is being probed. */
  get isOpen(): boolean {
    return this.#openedBy !== undefined;
  }

  /**
   * Waits until something may be sent: undefined where it may now.
   * @throws RvmError what opened it, where the operation does not wait for that, or not until the next probe
   */
  whenClosed(operation: Operation): Promise<void> | undefined {
    if (this.#openedBy === undefined) return undefined;
    operation.checkAlive();
    if (!isOutage(this.#openedBy)) throw this.#openedBy;
    return this.#wait(operation);
  }

  /** The service has answered. */
  succeeded(): void {
    this.#outages = 0;
    this.#steps = 0;
    this.#openedBy = undefined;
    this.#stopTimer();
    this.#tellWaiters();
  }

  /** The service was out of reach: the first time calls still pass, but it is probed already. */
  failed(error: RvmError): void {
    this.#outages += 1;
    if (this.#openedBy !== undefined || this.#outages >= this.#timing.outages) this.#openedBy = error;
    this.#probeLater();
  }

  /**
   * One camera has not answered, or the service behind it is gone: a probe tells which, and once one has failed it counts as
   * an outage.
   */
  doubted(error: RvmError): void {
    if (this.#outages > 0) this.failed(error);
    else this.#probeLater();
  }

  /**
   * Opens at once.
   * @param notBeforeMs what the service has asked to wait, in milliseconds
   */
  open(error: RvmError, notBeforeMs = 0): void {
    this.#openedBy = error;
    this.#notBefore = performance.now() + notBeforeMs;
    this.#probeLater();
  }

  /** Ends probing, and all waiting with CANCELLED. */
  close(): void {
    this.#closed = true;
    this.#stopTimer();
    this.#tellWaiters();
  }

  #wait(operation: Operation): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        this.#waiters.delete(look);
        stopListening();
        settle();
      };
      const look = (): void => {
        const fault = this.#faultFor(operation);
        if (fault !== undefined) end(() => reject(fault));
        else if (!this.isOpen) end(resolve);
      };
      this.#waiters.add(look);
      if (this.#waiters.size === 1) this.#hurry();
      const stopListening = operation.onAbort((reason) => end(() => reject(reason)));
      look();
    });
  }

  /** Why the operation is not to wait any longer, if so. */
  #faultFor(operation: Operation): Error | undefined {
    if (this.#closed) return closedError('');
    const error = this.#openedBy;
    if (error === undefined) return undefined;
    if (!isOutage(error)) return error;
    const ms = this.#probing ? 0 : Math.max(0, this.#probeAt - performance.now());
    return operation.mayWait(error, ms) ? undefined : error;
  }

  #tellWaiters(): void {
    for (const look of this.#waiters) look();
  }

  /** Somebody waits now: the next probe comes when it would have come for them. */
  #hurry(): void {
    if (this.#timer === undefined) return;
    this.#stopTimer();
    this.#startTimer();
  }

  #probeLater(): void {
    if (!this.#closed && this.#timer === undefined && !this.#probing) {
      this.#steps += 1;
      this.#restsSince = performance.now();
      this.#probeAt = Infinity;
      this.#startTimer();
    }
    this.#tellWaiters();
  }

  /** Later than it was said already it does not come, but for what the service asks for. */
  #startTimer(): void {
    const { probeMs, longestProbeMs, longestAwaitedProbeMs } = this.#timing;
    const longest = this.#waiters.size > 0 ? Math.min(longestProbeMs, longestAwaitedProbeMs) : longestProbeMs;
    const at = this.#restsSince + backoff(this.#steps, probeMs, longest);
    this.#probeAt = Math.max(Math.min(at, this.#probeAt), this.#notBefore);
    this.#timer = setTimeout(() => void this.#probeNow(), Math.max(0, this.#probeAt - performance.now()));
    this.#timer.unref();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #probeNow(): Promise<void> {
    this.#timer = undefined;
    this.#probing = true;
    // What a failed probe says of the service has been told by whoever sent its requests.
    const isAlive = await this.#probe(new Operation({ once: true, isProbe: true })).then(
      () => true,
      () => false,
    );
    this.#probing = false;
    if (isAlive) this.succeeded();
    else this.#probeLater();
  }
}

/** Failures of these say something about the whole service, not about one camera. */
const CENTRAL: ReadonlySet<string> = new Set(['system', DIALECT.relations.devices]);
/** Failures of a request that got no answer; the attempts are 0 where it was not sent. */
const NO_ANSWER: ReadonlySet<string> = new Set(['NETWORK', 'TLS', 'TIMEOUT']);
/** Failures that an answer of the service has caused: it lives. */
const ALIVE: ReadonlySet<string> = new Set(['HTTP_ERROR', 'RATE_LIMITED']);
/** Failures of a System resource that only others can cure. */
const UNUSABLE: ReadonlySet<string> = new Set([
  'BAD_RESPONSE',
  'INCOMPATIBLE_VERSION',
  'VERSION_NOT_REQUESTED',
  'UNTRUSTED_LINK',
]);
/** Answers of a gateway that does not reach the service behind it. */
const OUTAGES: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * What the requests of a Central Station tell of the service: it answers, is out of reach, or lets us in no more. The circuit
 * and the state that the nodes show follow from that.
 */
export class ServiceHealth {
  readonly #circuit: CircuitBreaker;
  readonly #board: StationStatus;
  readonly #limits: RateLimits;
  readonly #clock = new ServiceClock();
  #offlineSince: Date | undefined;

  /** @param probe asks the service for a sign of life; rejects where there is none */
  constructor(
    board: StationStatus,
    limits: RateLimits,
    timing: StationTiming,
    probe: (operation: Operation) => Promise<void>,
  ) {
    this.#board = board;
    this.#limits = limits;
    this.#circuit = new CircuitBreaker(timing, probe);
  }

  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined where no answer has told. */
  get clockAhead(): number | undefined {
    return this.#clock.ahead;
  }

  /** Whether nothing is to be sent but probes. */
  get isOut(): boolean {
    return this.#circuit.isOpen;
  }

  /**
   * Waits until something may be sent: undefined where it may now.
   * @throws RvmError what stands against it, where that is not waited for
   */
  whenBack(operation: Operation): Promise<void> | undefined {
    return this.#circuit.whenClosed(operation);
  }

  loggingIn(): void {
    this.#board.loggingIn();
  }

  loginCancelled(): void {
    this.#board.idle();
  }

  /**
   * The service has answered, to a session that is good.
   * @param version the one it chose; undefined where it named none
   */
  reachable(version: string | undefined): void {
    this.#circuit.succeeded();
    this.#offlineSince = undefined;
    this.#board.connected(version);
  }

  /**
   * Hears the answer to a request that was sent.
   * @returns false where it is that of a gateway that does not reach the service
   */
  answered(wanted: ServiceRequest, answer: Answer): boolean {
    const error = OUTAGES.has(answer.status) ? answer.statusError() : undefined;
    if (error === undefined) this.#clock.note(answer.headers);
    if (error?.code !== 'HTTP_ERROR') return true;
    this.#unanswered(wanted, error);
    return false;
  }

  /** Hears why a request that was sent has no answer. */
  failed(wanted: ServiceRequest, error: unknown): void {
    if (!(error instanceof RvmError) || !NO_ANSWER.has(error.code) || error.cause.attempts === 0) return;
    this.#unanswered(wanted, error);
  }

  /** Hears that nobody waits any more for the answer to a request that was sent: a probe tells what that means. */
  doubted(error: unknown): void {
    if (error instanceof RvmError && NO_ANSWER.has(error.code)) this.#circuit.doubted(error);
  }

  /** Hears why the System resource could not be had: one that cannot be used opens the circuit at once. */
  systemFailed(error: RvmError): void {
    if (UNUSABLE.has(error.code)) this.giveUp(error);
  }

  /** Opens the circuit at once, for as long as the service has asked to wait. */
  giveUp(error: RvmError): void {
    this.#circuit.open(error, this.#limits.against({ relation: error.cause.relation ?? '' })?.ms);
    this.#unreachable(error);
  }

  /** Ends all probing. */
  close(): void {
    this.#circuit.close();
  }

  /** Of the resources of a camera it may be the camera that does not answer. */
  #unanswered({ relation }: ServiceRequest, error: RvmError): void {
    if (!CENTRAL.has(relation)) {
      this.#circuit.doubted(error);
      return;
    }
    this.#circuit.failed(error);
    this.#unreachable(error);
  }

  #unreachable(error: RvmError): void {
    this.#offlineSince ??= new Date();
    this.#board.failed(error, this.#offlineSince);
  }
}

/** True for a failure that is an answer of the service itself: it lives. */
export function isSignOfLife(error: RvmError): boolean {
  return ALIVE.has(error.code) && !OUTAGES.has(error.cause.status ?? 0);
}

/** How far the clock of the service is from that of this machine, as its answers tell. */
export class ServiceClock {
  #ahead: number | undefined;
  /** Of the wall clock against the steady one, when that was told. */
  #offset = 0;

  /**
   * @param now wall clock, in milliseconds
   * @param steady milliseconds of a clock that never jumps
   */
  constructor(
    private readonly now: () => number = Date.now,
    private readonly steady: () => number = () => performance.now(),
  ) {}

  /**
   * Milliseconds that it is ahead, negative where it is behind; off by as long as an answer takes, and by a second. Undefined where no
   * answer has told since the clock of this machine was set.
   */
  get ahead(): number | undefined {
    const moved = this.now() - this.steady() - this.#offset;
    return Math.abs(moved) > CLOCK_JUMP ? undefined : this.#ahead;
  }

  /** An answer that a cache has kept tells of another time. */
  note({ date, age }: Headers): void {
    if (typeof date !== 'string' || age !== undefined) return;
    const told = Date.parse(date);
    if (!Number.isFinite(told)) return;
    this.#ahead = told - this.now();
    this.#offset = this.now() - this.steady();
  }
}

/** What a status dot can say about the connection of one Central Station. */
export type StationState =
  | { kind: 'idle' }
  | { kind: 'logging-in' }
  /** `version` is the one the service chose; undefined where it named none. */
  | { kind: 'connected'; version: string | undefined }
  | { kind: 'offline'; since: Date; error: RvmError }
  /** The service answers, but not to us: wrong key, wrong password, incompatible version, bad settings. */
  | { kind: 'refused'; error: RvmError };

export type StateListener = (state: StationState) => void;

/** Codes that only the user can cure; all others are a service that is out of reach. */
const REFUSALS: ReadonlySet<RvmErrorCode> = new Set<RvmErrorCode>([
  'CONFIG_MISSING',
  'BAD_INPUT',
  'API_KEY_REJECTED',
  'LOGIN_FAILED',
  'INCOMPATIBLE_VERSION',
  'VERSION_NOT_REQUESTED',
  'PERMISSION_DENIED',
  'LINK_NOT_OFFERED',
  'UNTRUSTED_LINK',
]);

function isRefusal(error: RvmError): boolean {
  return REFUSALS.has(error.code);
}

/** The present state and those who want to hear of its changes. */
export class StationStatus {
  #state: StationState = { kind: 'idle' };
  readonly #listeners = new Set<StateListener>();

  /** @param fitToTell an error as it may be told */
  constructor(private readonly fitToTell: (error: RvmError) => RvmError = (error) => error) {}

  get state(): StationState {
    return this.#state;
  }

  /** @returns a function that ends the listening */
  onState(listener: StateListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  idle(): void {
    this.#set({ kind: 'idle' });
  }

  /** A login that is tried again and again shows as the failure it has been so far. */
  loggingIn(): void {
    if (this.#state.kind === 'offline' || this.#state.kind === 'refused') return;
    this.#set({ kind: 'logging-in' });
  }

  connected(version: string | undefined): void {
    if (this.#state.kind === 'connected' && this.#state.version === version) return;
    this.#set({ kind: 'connected', version });
  }

  /** `offlineSince` keeps the first moment over the attempts in between. */
  failed(failure: RvmError, offlineSince: Date): void {
    const error = this.fitToTell(failure);
    this.#set(
      isRefusal(error) ? { kind: 'refused', error } : { kind: 'offline', since: offlineSince, error },
    );
  }

  clear(): void {
    this.#listeners.clear();
  }

  #set(state: StationState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener(state);
  }
}

/** Who knows when the service was last asked for anything. */
interface Traffic {
  /** As of `performance.now()`. */
  readonly lastSentAt: number;
}

/**
 * Asks the service for a sign of life when nobody has asked it for anything for a while, so that one that died does not look
 * well until the next alarm.
 */
export class IdleProbe {
  readonly #quietMs: number;
  readonly #traffic: Traffic;
  readonly #ask: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * @param quietMs milliseconds without any request after which it asks; 0 = never
   * @param ask tells the state by itself of what comes of it
   */
  constructor(quietMs: number, traffic: Traffic, ask: () => Promise<void>) {
    this.#quietMs = quietMs;
    this.#traffic = traffic;
    this.#ask = ask;
  }

  /** Begins to wait, unless it does already. */
  start(): void {
    if (this.#timer === undefined) this.#wait(jitter(this.#quietMs));
  }

  /** Asks now. */
  async ask(): Promise<void> {
    // Why there is none shows in the state.
    await this.#ask().catch(() => undefined);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    if (this.#quietMs <= 0 || this.#closed) return;
    this.#timer = setTimeout(() => void this.#askIfQuiet(), clampTimerMs(ms));
    this.#timer.unref();
  }

  async #askIfQuiet(): Promise<void> {
    const quiet = performance.now() - this.#traffic.lastSentAt;
    if (quiet >= this.#quietMs) await this.ask();
    this.#wait(quiet >= this.#quietMs ? jitter(this.#quietMs) : jitter(this.#quietMs) - quiet);
  }
}
