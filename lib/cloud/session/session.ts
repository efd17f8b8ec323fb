import { clampTimerMs } from '../../concurrency/timers';
import { toError, RvmError } from '../../error';
import { Answer } from '../http/answer';
import type { Origins, TrustedUrl } from '../http/origins';
import { failureOf, isOutage, RETRY_POLICY, timeoutError } from '../http/retry-policy';
import { requestKind, type ServiceRequest, type Transport } from '../http/transport';
import { Attempt, Operation, SingleFlight } from '../operation';
import { backoff, jitter, type StationTiming } from '../timing';
import {
  type AttemptOptions,
  type CheckedAnswer,
  CookieRotationState,
  CookieSession,
  HELD_UP,
  isPermissionDenied,
  STALE,
} from './cookie-session';
import { type Credentials, logIn, LoginCooldown } from './login';
import { isSignOfLife, ServiceHealth, type StationStatus } from './service-health';
import { systemRequest, SystemResource } from './system';

/** The attempts at one request: counts them, and waits between them within the deadline of the operation. */
class RetryLoop {
  #attempt = new Attempt();
  #sent = 0;
  #failures = 0;

  constructor(
    private readonly transport: Transport,
    private readonly health: ServiceHealth,
    private readonly operation: Operation,
    private readonly wanted: ServiceRequest,
  ) {}

  /** The attempt before counts only if it was sent. */
  next(): Attempt {
    if (this.#attempt.isSent) this.#sent += 1;
    this.#attempt = new Attempt(this.#sent + 1);
    return this.#attempt;
  }

  /**
   * Waits until the request may be sent again.
   * @param outcome an answer that is neither a success nor a refusal, or the error of the attempt
   * @throws RvmError the error of the outcome, if it is final or no time is left
   */
  async waitAfter(outcome: Answer | RvmError): Promise<void> {
    const error = outcome instanceof Answer ? outcome.statusError() : outcome;
    const failure = failureOf(error, this.#attempt.isSent);
    if (RETRY_POLICY[failure][requestKind(this.wanted)] === 'never') throw error;
    const retryAfterMs = outcome instanceof Answer ? outcome.retryAfterMs : undefined;
    await this.pause(error, retryAfterMs ?? this.transport.limits.against(this.wanted)?.ms);
  }

  /** The same after an attempt without an answer. @throws Error as `waitAfter`, and any other error */
  async waitAfterError(error: Error): Promise<void> {
    if (!(error instanceof RvmError)) throw error;
    // If the deadline passes while a command is on its way, it is unknown whether the command is carried out:
    // this error takes precedence over that of an earlier wait.
    const isLate = this.operation.isOver && error.code !== 'CANCELLED';
    if (isLate && requestKind(this.wanted) === 'command' && this.#attempt.isSent) {
      throw timeoutError(this.wanted, this.#attempt.number);
    }
    this.operation.checkAlive();
    await this.waitAfter(error);
  }

  /** The same after a failed login. @throws Error this error, if it is final or no time is left */
  async waitAfterLogin(error: unknown): Promise<void> {
    this.operation.checkAlive();
    if (!(error instanceof RvmError) || !isOutage(error)) throw error;
    await this.pause(error, this.transport.limits.against({ relation: error.cause.relation ?? '' })?.ms);
  }

  /**
   * A pause that grows with each failure, or the one that the service has asked for plus a random part, so that not all clients
   * return at the same moment. While the circuit is open the request waits for that instead.
   * @throws RvmError this error, if no time is left
   */
  async pause(error: RvmError, retryAfterMs?: number): Promise<void> {
    const { retryMs, longestRetryMs } = this.transport.timing;
    this.#failures += 1;
    // Shorter near the deadline: the remaining time must not be used up by one pause.
    const left = this.operation.until - performance.now();
    const longest = Math.max(retryMs, Math.min(longestRetryMs, left / 2));
    const pause = backoff(this.#failures, retryMs, longest);
    if (!this.operation.mayWait(error, Math.max(pause, retryAfterMs ?? 0))) throw error;
    if (this.health.isOut) return;
    const wait = retryAfterMs === undefined ? pause : Math.max(pause, retryAfterMs + backoff(1, retryMs));
    await this.transport.pause(this.operation, this.wanted.relation, wait);
  }
}

/** The error for a refusal that may be transient. */
function refusalError(answer: Answer): RvmError {
  if (answer.refused) return answer.statusError();
  return answer.error(
    'HTTP_ERROR',
    `The service answered ${answer.relation} as to somebody who is not logged in; try again in a while, or report it to the service.`,
  );
}

/** The error for a missing permission. */
function permissionDenied(answer: Answer): RvmError {
  return answer.error(
    'PERMISSION_DENIED',
    `The service refuses ${answer.relation} to this Agent User; check its rights and what the customer has granted.`,
  );
}

interface Session {
  readonly http: CookieSession;
  /** The last answer of `/system` in this session. */
  system: SystemResource;
  /** Time of the login, as of `performance.now()`. */
  readonly loggedInAt: number;
}

/**
 * The one session of a Central Station. However many operations wait, there is one login at a time; a refused request is sent
 * once more after one new login, and a second refusal means a missing permission. Transient failures are retried as
 * `RETRY_POLICY` says, until the deadline of the operation; while the circuit is open nothing is sent.
 */
export class StationSession {
  readonly #options: Credentials;
  readonly #health: ServiceHealth;
  readonly #cooldown: LoginCooldown;
  readonly #rotation = new CookieRotationState();
  readonly #login = new SingleFlight<Session>();
  readonly #reread = new SingleFlight<void>();
  #current: Session | undefined;
  /** Of the last successful login, even if that session is no longer used. */
  #latest: CookieSession | undefined;

  constructor(
    private readonly transport: Transport,
    private readonly origins: Origins,
    options: Credentials,
    timing: StationTiming,
    private readonly board: StationStatus,
  ) {
    this.#options = options;
    this.#health = new ServiceHealth(board, transport.limits, timing, (operation) => this.#probe(operation));
    this.#cooldown = new LoginCooldown(timing, transport.limits);
  }

  /**
   * The address of a relation of the System resource, after login if necessary.
   * @throws RvmError LINK_NOT_OFFERED, UNTRUSTED_LINK, and those of the login
   */
  async link(operation: Operation, relation: string): Promise<TrustedUrl> {
    const session = await this.#open(operation);
    return session.system.requireLink(relation);
  }

  /**
   * Follows a link. On 401 or 403 one login is made, shared by all requests that wait for it, and the request is sent once
   * more: a refused request was not carried out, so this is safe for a POST, too. Other requests use the old session until
   * there is a new one.
   * @returns an answer with a status of success
   * @throws RvmError PERMISSION_DENIED, RATE_LIMITED, HTTP_ERROR, and those of the login and the transport
   */
  async follow(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    const retry = new RetryLoop(this.transport, this.#health, operation, wanted);
    /** The first session that has refused it. */
    let refusedBy: Session | undefined;
    let endDoubt: (() => void) | undefined;
    try {
      for (;;) {
        const session = await this.#open(operation);
        const tried = { attempt: retry.next(), isLast: refusedBy !== undefined };
        const outcome = await this.#exchange(operation, session, wanted, tried).catch(toError);
        if (outcome === STALE || outcome === HELD_UP) continue;
        if (outcome instanceof Error) {
          await retry.waitAfterError(outcome);
        } else if (outcome.isRefused) {
          // The refusal may be due to an old cookie. From now on requests go one at a time, with a new session, so
          // that the next refusal is certain.
          if (!outcome.isCertain) endDoubt ??= this.#rotation.doubt();
          await this.#renewAfter(outcome, session, refusedBy, operation, retry);
          refusedBy ??= session;
        } else if (outcome.answer.ok) {
          operation.goesOn();
          return outcome.answer;
        } else {
          await retry.waitAfter(outcome.answer);
        }
      }
    } finally {
      endDoubt?.();
    }
  }

  /**
   * Requests the System resource again, because a link from it is gone. A session that no longer offers the devices is dropped.
   */
  rereadSystem(operation: Operation): Promise<void> {
    return this.#reread.run(operation, (shared) => this.#lookAgain(shared));
  }

  async #lookAgain(operation: Operation): Promise<void> {
    const wanted = systemRequest(this.origins, this.#options);
    const retry = new RetryLoop(this.transport, this.#health, operation, wanted);
    for (;;) {
      await this.#health.whenBack(operation);
      if (this.#current === undefined) return;
      try {
        await this.#lookAt(operation, this.#current);
        return;
      } catch (error) {
        if (error === HELD_UP) continue;
        operation.checkAlive();
        if (!(error instanceof RvmError)) throw error;
        await retry.waitAfter(error);
      }
    }
  }

  /**
   * Requests the System resource itself.
   * @returns the answer for a logged-in client
   * @throws RvmError as `follow`
   */
  system(operation: Operation): Promise<Answer> {
    return this.follow(operation, systemRequest(this.origins, this.#options));
  }

  /**
   * Queries the service, in one attempt; while the circuit is open, probes do that already.
   * @throws RvmError if there is no sign of life; the state shows why
   */
  async askForLife(): Promise<void> {
    if (this.#health.isOut) return;
    await this.#probe(new Operation({ once: true, isProbe: true }));
  }

  /** True while only probes are sent. */
  get isOut(): boolean {
    return this.#health.isOut;
  }

  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined if no answer has shown it. */
  get clockAhead(): number | undefined {
    return this.#health.clockAhead;
  }

  /** When the session was opened, as of `performance.now()`. */
  get openedAt(): number {
    return this.#current?.loggedInAt ?? -Infinity;
  }

  /** Ends all probing. */
  close(): void {
    this.#health.close();
  }

  #open(operation: Operation): Session | Promise<Session> {
    if (this.#current !== undefined && !this.#health.isOut) return this.#current;
    return this.#openInTime(operation);
  }

  /** A transient failure of the login opens the circuit: a probe makes the next login. */
  async #openInTime(operation: Operation): Promise<Session> {
    for (;;) {
      await this.#health.whenBack(operation);
      if (this.#current !== undefined) return this.#current;
      try {
        return await this.#logInOnce(operation);
      } catch (error) {
        operation.checkAlive();
        if (operation.once || !(error instanceof RvmError) || !isOutage(error)) throw error;
      }
    }
  }

  /** Obtains another session after a refusal, unless that means a missing permission. */
  async #renewAfter(
    refusal: CheckedAnswer,
    session: Session,
    refusedBy: Session | undefined,
    operation: Operation,
    retry: RetryLoop,
  ): Promise<void> {
    const { answer } = refusal;
    const isOfRights = isPermissionDenied(refusal);
    if (isOfRights && refusedBy !== undefined && refusedBy !== session) {
      if (answer.isHeadTooLarge) throw answer.statusError();
      // Refused right after a login: for a while no further login is made.
      this.#cooldown.beginAfterRefusal(session.loggedInAt);
      throw permissionDenied(answer);
    }
    if (!isOfRights && refusedBy !== undefined) await retry.pause(refusalError(answer));
    await this.#renew(operation, session, refusal).catch((error: unknown) => retry.waitAfterLogin(error));
  }

  async #renew(operation: Operation, session: Session, refusal: CheckedAnswer): Promise<void> {
    if (this.#current !== session) return;
    const { answer } = refusal;
    if (answer.isHeadTooLarge) {
      // If a new session has just not helped, the cause is not cookies but an address that is too long.
      if (!this.#cooldown.takeLoginForCookies()) throw answer.statusError();
    } else if (this.#cooldown.isOn) {
      await this.rereadSystem(operation);
      const isOfRights = this.#current === session && isPermissionDenied(refusal);
      if (isOfRights) throw this.#cooldown.error ?? permissionDenied(answer);
      if (this.#current !== undefined) return;
    }
    await this.#logInOnce(operation, session);
  }

  /**
   * Joins the running login, or starts one.
   * @param old a session in which a request was refused
   * @throws RvmError those of `logIn`
   */
  #logInOnce(operation: Operation, old?: Session): Promise<Session> {
    return this.#login.run(operation, (shared) => this.#logIn(shared, old));
  }

  async #logIn(operation: Operation, old: Session | undefined): Promise<Session> {
    this.board.loggingIn();
    try {
      const http = new CookieSession(this.transport, this.origins, this.#rotation, this.#health);
      const work = () => logIn(operation, http, this.#options);
      const system = await (this.#latest?.whileQuiet(operation, work) ?? work());
      http.loggedIn();
      if (this.#latest !== undefined) this.#latest.isReplaced = true;
      this.#latest = http;
      this.#current = { http, system, loggedInAt: performance.now() };
      this.#cooldown.end();
      this.#health.reachable(system.version);
      return this.#current;
    } catch (error) {
      if (error instanceof RvmError) await this.#loginFailed(operation, error, old);
      throw error;
    }
  }

  /** If the old session is still valid, only the call that was refused fails. */
  async #loginFailed(operation: Operation, error: RvmError, old: Session | undefined): Promise<void> {
    if (error.code === 'CANCELLED') {
      this.board.idle();
    } else if (old !== undefined && (await this.#isGood(operation, old))) {
      this.#cooldown.beginAfterFailure(error);
    } else {
      this.#current = undefined;
      this.#health.giveUp(error);
    }
  }

  async #isGood(operation: Operation, session: Session): Promise<boolean> {
    try {
      await this.#lookAt(operation, session);
      return this.#current === session;
    } catch {
      return false;
    }
  }

  /**
   * Checks that service and session are alive. Any answer counts, except that of a gateway without the service; only a refusal,
   * or a System resource without the devices, ends the session.
   */
  async #probe(operation: Operation): Promise<void> {
    const session = this.#current;
    if (session !== undefined) await this.#lookAt(operation, session);
    if (this.#current === undefined) await this.#logInOnce(operation);
  }

  async #lookAt(operation: Operation, session: Session): Promise<void> {
    const attempt = new Attempt();
    const wanted = systemRequest(this.origins, this.#options);
    try {
      const { answer, isRefused } = await this.#exchange(operation, session, wanted, { attempt });
      if (!isRefused) session.system = SystemResource.from(answer, this.origins);
      else if (this.#current === session) this.#current = undefined;
    } catch (error) {
      if (error === STALE) return;
      if (!(error instanceof RvmError)) throw error;
      // A rate limit held the request back, so nothing is known about the service.
      if (error.code === 'RATE_LIMITED' && !attempt.isSent) return;
      if (!isSignOfLife(error)) {
        this.#health.systemFailed(error);
        throw error;
      }
    }
    if (this.#current === session) this.#health.reachable(session.system.version);
  }

  async #exchange(
    operation: Operation,
    session: Session,
    wanted: ServiceRequest,
    tried: AttemptOptions,
  ): Promise<CheckedAnswer> {
    try {
      const judged = await session.http.try(operation, wanted, tried);
      // Whether a System resource is usable shows only when it is read.
      const isProof = this.#health.answered(wanted, judged.answer) && wanted.relation !== 'system';
      if (isProof && this.#current === session) this.#health.reachable(session.system.version);
      return judged;
    } catch (error) {
      // A caller that gave up in the queue says nothing about the service, and one with little time for the
      // answer says little.
      if (!operation.isOver) this.#health.failed(wanted, error);
      else if (tried.attempt.isSent) this.#health.suspect(error);
      throw error;
    }
  }
}

/**
 * Queries the service when there was no request for a while, so that a dead service does not look healthy until the next alarm.
 */
export class IdleProbe {
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param quietMs milliseconds without any request before the query; 0 = never */
  constructor(
    private readonly quietMs: number,
    private readonly transport: Transport,
    private readonly session: StationSession,
  ) {}

  /** Starts the timer, unless it runs already. */
  start(): void {
    if (this.#timer === undefined) this.#wait(jitter(this.quietMs));
  }

  async ask(): Promise<void> {
    // The state shows why it failed.
    await this.session.askForLife().catch(() => undefined);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    if (this.quietMs <= 0 || this.#closed) return;
    this.#timer = setTimeout(() => void this.#askIfQuiet(), clampTimerMs(ms));
    this.#timer.unref();
  }

  async #askIfQuiet(): Promise<void> {
    const quiet = performance.now() - this.transport.lastSentAt;
    if (quiet >= this.quietMs) await this.ask();
    this.#wait(quiet >= this.quietMs ? jitter(this.quietMs) : jitter(this.quietMs) - quiet);
  }
}
