import { RvmError, type RvmErrorCode } from '../../error';
import { CLOCK_JUMP } from '../../time';
import { DIALECT } from '../dialect';
import type { Answer, Headers } from '../http/answer';
import { closedError, isOutage } from '../http/retry-policy';
import type { RateLimits, ServiceRequest } from '../http/transport';
import { Operation } from '../operation';
import { redactError } from '../secret-mask';
import { backoff, type StationTiming } from '../timing';

/** Checks whether its wait is over. */
type Waiter = () => void;

/**
 * The circuit breaker of one Central Station. It opens after several outages in a row, and at once when a login fails. While it
 * is open, only probes are sent: one per step of a growing pause, to find out whether the service is back. Calls wait for the
 * end of an outage, and the first successful probe wakes all of them; if only a person can cure the cause, calls fail at once.
 * So the load on a service in trouble does not depend on the number of messages, and a station recovers without any.
 */
class CircuitBreaker {
  readonly #waiters = new Set<Waiter>();
  #outages = 0;
  #steps = 0;
  #openedBy: RvmError | undefined;
  #notBefore = 0;
  /** When the pause before the next probe began, and when that probe is due. */
  #restsSince = 0;
  #probeAt = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #probing = false;
  #closed = false;

  /** @param probe queries the service; rejects if that shows no sign of life */
  constructor(
    private readonly timing: StationTiming,
    private readonly probe: (operation: Operation) => Promise<void>,
  ) {}

  /** Whether requests are held back, also during a probe. */
  get isOpen(): boolean {
    return this.#openedBy !== undefined;
  }

  /**
   * Waits until requests may be sent; undefined if they may now.
   * @throws RvmError the error that opened the circuit, if the operation does not wait for its end, or not
   *   until the next probe
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

  /** The service was out of reach. Until the circuit opens calls still pass, but the service is probed already. */
  failed(error: RvmError): void {
    this.#outages += 1;
    if (this.#openedBy !== undefined || this.#outages >= this.timing.outages) this.#openedBy = error;
    this.#probeLater();
  }

  /**
   * One camera has not answered, or the service behind it is gone: a probe finds out which. After a failed probe it counts as
   * an outage.
   */
  suspect(error: RvmError): void {
    if (this.#outages > 0) this.failed(error);
    else this.#probeLater();
  }

  /**
   * Opens at once.
   * @param notBeforeMs milliseconds that the service has asked to wait
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

  /** The reason why the operation must not wait any longer, if any. */
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

  /** A call waits now: the next probe is due as early as if the call had waited from the start of the pause. */
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

  /** Never postpones a probe that is already scheduled, unless the service has asked for a longer wait. */
  #startTimer(): void {
    const { probeMs, longestProbeMs, longestAwaitedProbeMs } = this.timing;
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
    // The sender of the probe's requests has already reported what a failure means.
    const isAlive = await this.probe(new Operation({ once: true, isProbe: true })).then(
      () => true,
      () => false,
    );
    this.#probing = false;
    if (isAlive) this.succeeded();
    else this.#probeLater();
  }
}

/** Failures of these relations concern the whole service, not one camera. */
const WHOLE_SERVICE: ReadonlySet<string> = new Set(['system', DIALECT.relations.devices]);
/** Failures of a request without an answer; 0 attempts if it was not sent. */
const NO_ANSWER: ReadonlySet<string> = new Set(['NETWORK', 'TLS', 'TIMEOUT']);
/** Failures caused by an answer of the service, which therefore is alive. */
const ALIVE: ReadonlySet<string> = new Set(['HTTP_ERROR', 'RATE_LIMITED']);
/** Failures of the System resource that only a person can cure. */
const UNUSABLE: ReadonlySet<string> = new Set([
  'BAD_RESPONSE',
  'INCOMPATIBLE_VERSION',
  'VERSION_NOT_REQUESTED',
  'UNTRUSTED_LINK',
]);
/** Statuses of a gateway that cannot reach the service behind it. */
const OUTAGES: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * What the requests of a Central Station show about the service: it answers, is out of reach, or refuses access. Controls the
 * circuit breaker and the state that the nodes show.
 */
export class ServiceHealth {
  readonly #circuit: CircuitBreaker;
  readonly #clock = new ServiceClock();
  #offlineSince: Date | undefined;

  /** @param probe queries the service; rejects if that shows no sign of life */
  constructor(
    private readonly board: StationStatus,
    private readonly limits: RateLimits,
    timing: StationTiming,
    probe: (operation: Operation) => Promise<void>,
  ) {
    this.#circuit = new CircuitBreaker(timing, probe);
  }

  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined if no answer has shown it. */
  get clockAhead(): number | undefined {
    return this.#clock.ahead;
  }

  /** True while only probes are sent. */
  get isOut(): boolean {
    return this.#circuit.isOpen;
  }

  /**
   * Waits until requests may be sent; undefined if they may now.
   * @throws RvmError the reason, if the operation does not wait for its end
   */
  whenBack(operation: Operation): Promise<void> | undefined {
    return this.#circuit.whenClosed(operation);
  }

  /**
   * The service has answered in a valid session.
   * @param version the version that the service chose; undefined if it named none
   */
  reachable(version: string | undefined): void {
    this.#circuit.succeeded();
    this.#offlineSince = undefined;
    this.board.connected(version);
  }

  /**
   * Evaluates the answer to a request that was sent.
   * @returns false if it comes from a gateway that cannot reach the service
   */
  answered(wanted: ServiceRequest, answer: Answer): boolean {
    const error = OUTAGES.has(answer.status) ? answer.statusError() : undefined;
    if (error === undefined) this.#clock.note(answer.headers);
    if (error?.code !== 'HTTP_ERROR') return true;
    this.#unanswered(wanted, error);
    return false;
  }

  /** Evaluates why a request that was sent has no answer. */
  failed(wanted: ServiceRequest, error: unknown): void {
    if (!(error instanceof RvmError) || !NO_ANSWER.has(error.code) || error.cause.attempts === 0) return;
    this.#unanswered(wanted, error);
  }

  /** The caller of a request that was sent gave up before the answer: a probe finds out what that means. */
  suspect(error: unknown): void {
    if (error instanceof RvmError && NO_ANSWER.has(error.code)) this.#circuit.suspect(error);
  }

  /** Evaluates why the System resource could not be read: an unusable one opens the circuit at once. */
  systemFailed(error: RvmError): void {
    if (UNUSABLE.has(error.code)) this.giveUp(error);
  }

  /** Opens the circuit at once, and for at least as long as the service has asked to wait. */
  giveUp(error: RvmError): void {
    this.#circuit.open(error, this.limits.against({ relation: error.cause.relation ?? '' })?.ms);
    this.#unreachable(error);
  }

  /** Ends all probing. */
  close(): void {
    this.#circuit.close();
  }

  /** If a resource of a camera does not answer, the camera alone may be the cause. */
  #unanswered({ relation }: ServiceRequest, error: RvmError): void {
    if (!WHOLE_SERVICE.has(relation)) {
      this.#circuit.suspect(error);
      return;
    }
    this.#circuit.failed(error);
    this.#unreachable(error);
  }

  #unreachable(error: RvmError): void {
    this.#offlineSince ??= new Date();
    this.board.failed(error, this.#offlineSince);
  }
}

/** True for a failure that is an answer of the service itself, which therefore is alive. */
export function isSignOfLife(error: RvmError): boolean {
  return ALIVE.has(error.code) && !OUTAGES.has(error.cause.status ?? 0);
}

/** The difference between the clock of the service and that of this machine, from the answers of the service. */
export class ServiceClock {
  #ahead: number | undefined;
  /** Wall clock minus monotonic clock at the time of that answer. */
  #offset = 0;

  /**
   * @param now wall clock, in milliseconds
   * @param monotonic monotonic clock, in milliseconds
   */
  constructor(
    private readonly now: () => number = Date.now,
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  /**
   * Milliseconds that the service is ahead, negative if it is behind; accurate to the duration of an answer plus one second.
   * Undefined if there was no answer since the clock of this machine was set.
   */
  get ahead(): number | undefined {
    const moved = this.now() - this.monotonic() - this.#offset;
    return Math.abs(moved) > CLOCK_JUMP ? undefined : this.#ahead;
  }

  /** The date of an answer from a cache is too old. */
  note({ date, age }: Headers): void {
    if (typeof date !== 'string' || age !== undefined) return;
    const serverTime = Date.parse(date);
    if (!Number.isFinite(serverTime)) return;
    this.#ahead = serverTime - this.now();
    this.#offset = this.now() - this.monotonic();
  }
}

/** States of the connection of one Central Station, for the status dot. */
export type StationState =
  | { kind: 'idle' }
  | { kind: 'logging-in' }
  /** `version` is the one the service chose; undefined where it named none. */
  | { kind: 'connected'; version: string | undefined }
  | { kind: 'offline'; since: Date; error: RvmError }
  /** The service answers, but not to us: wrong key, wrong password, incompatible version, bad settings. */
  | { kind: 'refused'; error: RvmError };

export type StateListener = (state: StationState) => void;

/** Codes that only the user can cure; all others mean that the service is out of reach. */
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

/** The present state and its listeners. */
export class StationStatus {
  #state: StationState = { kind: 'idle' };
  readonly #listeners = new Set<StateListener>();

  readonly #secrets: readonly string[];

  /** @param secrets texts that no error may repeat */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

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

  /** During a login that is retried, the state still shows the last failure. */
  loggingIn(): void {
    if (this.#state.kind === 'offline' || this.#state.kind === 'refused') return;
    this.#set({ kind: 'logging-in' });
  }

  connected(version: string | undefined): void {
    if (this.#state.kind === 'connected' && this.#state.version === version) return;
    this.#set({ kind: 'connected', version });
  }

  /** @param offlineSince time of the first failure, also after further attempts */
  failed(failure: RvmError, offlineSince: Date): void {
    const error = redactError(failure, this.#secrets);
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
