import { toError, RvmError } from '../../error';
import { Answer } from '../http/answer';
import type { Origins, TrustedUrl } from '../http/origins';
import { failureOf, isOutage, RETRY_POLICY, timeoutError } from '../http/retry-policy';
import { requestKind, type ServiceRequest, type Transport } from '../http/transport';
import { Attempt, Operation, SingleFlight } from '../operation';
import { backoff, type StationTiming } from '../timing';
import {
  isPermissionDenied,
  type CheckedAnswer,
  CookieRotationState,
  type AttemptOptions,
} from './cookie-session';
import { type LoginOptions, LoginCooldown, LoginManager, type Session } from './login';
import { isSignOfLife, ServiceHealth, type StationStatus } from './service-health';
import { logoutTest, systemRequest, SystemResource } from './system';

/** The attempts at one request: counts them, and waits between them within the deadline of the operation. */
class RetryLoop {
  readonly #transport: Transport;
  readonly #operation: Operation;
  readonly #wanted: ServiceRequest;
  #sent = 0;
  #failures = 0;

  constructor(transport: Transport, operation: Operation, wanted: ServiceRequest) {
    this.#transport = transport;
    this.#operation = operation;
    this.#wanted = wanted;
  }

  /** @param former the previous attempt: counts only if it was sent */
  next(former?: Attempt): Attempt {
    if (former?.isSent === true) this.#sent += 1;
    return new Attempt(this.#sent + 1);
  }

  /**
   * Waits until the request may be sent again.
   * @param outcome an answer that is neither a success nor a refusal, or the error of the attempt
   * @param isHeldUp whether the circuit is open: then the request waits for that, without a pause
   * @throws RvmError the error of the outcome, if it is final or no time is left
   */
  async waitAfter(outcome: Answer | RvmError, attempt: Attempt, isHeldUp: () => boolean): Promise<void> {
    const error = outcome instanceof Answer ? outcome.statusError() : outcome;
    if (RETRY_POLICY[failureOf(error, attempt.isSent)][requestKind(this.#wanted)] === 'never') throw error;
    await this.pause(
      error,
      retryAfterOf(outcome) ?? this.#transport.limits.against(this.#wanted)?.ms,
      isHeldUp,
    );
  }

  /**
   * The same after a failed login.
   * @throws RvmError this error, if no time is left
   */
  waitAfterLogin(error: RvmError, isHeldUp: () => boolean): Promise<void> {
    const limit = this.#transport.limits.against({ relation: error.cause.relation ?? '' });
    return this.pause(error, limit?.ms, isHeldUp);
  }

  /**
   * A pause that grows with each failure, or the one that the service has asked for plus a random part, so that not all clients
   * return at the same moment.
   * @throws RvmError this error, if no time is left
   */
  async pause(error: RvmError, retryAfterMs: number | undefined, isHeldUp: () => boolean): Promise<void> {
    const { retryMs, longestRetryMs } = this.#transport.timing;
    this.#failures += 1;
    // Shorter near the deadline: the remaining time must not be used up by one pause.
    const left = this.#operation.until - performance.now();
    const longest = Math.max(retryMs, Math.min(longestRetryMs, left / 2));
    const pause = backoff(this.#failures, retryMs, longest);
    if (!this.#operation.mayWait(error, Math.max(pause, retryAfterMs ?? 0))) throw error;
    if (isHeldUp()) return;
    const wait = retryAfterMs === undefined ? pause : Math.max(pause, retryAfterMs + backoff(1, retryMs));
    await this.#transport.pause(this.#operation, this.#wanted.relation, wait);
  }
}

function retryAfterOf(outcome: Answer | RvmError): number | undefined {
  return outcome instanceof Answer ? outcome.retryAfterMs : undefined;
}

/** What a pursuit needs from the session of the station. */
interface Sessions<Session> {
  readonly memory: CookieRotationState;
  /** Whether the circuit is open. */
  isOut: () => boolean;
  /** The present session, once requests may be sent. */
  open: (operation: Operation) => Session | Promise<Session>;
  /** Undefined if the request was not sent, because the session was renewed or the circuit has opened. */
  send: (
    operation: Operation,
    session: Session,
    wanted: ServiceRequest,
    tried: AttemptOptions,
  ) => Promise<CheckedAnswer | undefined>;
  /** Obtains another session after a refusal. */
  renew: (operation: Operation, session: Session, refusal: CheckedAnswer) => Promise<void>;
  /** The error for a missing permission. */
  denied: (session: Session, refusal: Answer) => RvmError;
}

/** One request, sent until it succeeds or no further attempt is allowed. */
class Pursuit<Session> {
  readonly #sessions: Sessions<Session>;
  readonly #operation: Operation;
  readonly #wanted: ServiceRequest;
  readonly #tries: RetryLoop;
  #attempt: Attempt;
  /** The first session that has refused it. */
  #refusedBy: Session | undefined;
  #endDoubt: (() => void) | undefined;

  constructor(
    sessions: Sessions<Session>,
    transport: Transport,
    operation: Operation,
    wanted: ServiceRequest,
  ) {
    this.#sessions = sessions;
    this.#operation = operation;
    this.#wanted = wanted;
    this.#tries = new RetryLoop(transport, operation, wanted);
    this.#attempt = this.#tries.next();
  }

  /** @returns an answer with a status of success */
  async answer(): Promise<Answer> {
    try {
      for (;;) {
        const answer = await this.#try(await this.#sessions.open(this.#operation));
        if (answer === undefined) continue;
        this.#operation.goesOn();
        return answer;
      }
    } finally {
      this.#endDoubt?.();
    }
  }

  /** @returns undefined if the request is to be tried again, now */
  async #try(session: Session): Promise<Answer | undefined> {
    const attempt = this.#tries.next(this.#attempt);
    this.#attempt = attempt;
    const isLast = this.#refusedBy !== undefined;
    const sending = this.#sessions.send(this.#operation, session, this.#wanted, { attempt, isLast });
    const outcome = await sending.catch(toError);
    if (outcome === undefined) return undefined;
    if (outcome instanceof Error) await this.#failed(outcome);
    else if (outcome.isRefused) await this.#refused(session, outcome);
    else if (outcome.answer.ok) return outcome.answer;
    else await this.#tries.waitAfter(outcome.answer, attempt, this.#sessions.isOut);
    return undefined;
  }

  async #failed(error: Error): Promise<void> {
    if (!(error instanceof RvmError)) throw error;
    // If the deadline passes while a command is on its way, it is unknown whether the command is carried out:
    // this error takes precedence over that of an earlier wait.
    const isLate = this.#operation.isOver && error.code !== 'CANCELLED';
    if (isLate && this.#isCommand && this.#attempt.isSent) {
      throw timeoutError(this.#wanted, this.#attempt.number);
    }
    this.#operation.checkAlive();
    await this.#tries.waitAfter(error, this.#attempt, this.#sessions.isOut);
  }

  async #refused(session: Session, refusal: CheckedAnswer): Promise<void> {
    const { answer, isCertain } = refusal;
    const isOfRights = isPermissionDenied(refusal);
    if (isOfRights && this.#refusedBy !== undefined && this.#refusedBy !== session) {
      throw answer.isHeadTooLarge ? answer.statusError() : this.#sessions.denied(session, answer);
    }
    if (RETRY_POLICY['status 401, 403, 431'][requestKind(this.#wanted)] === 'never')
      throw answer.statusError();
    if (!isCertain) this.#doubt();
    if (!isOfRights && this.#refusedBy !== undefined) {
      await this.#tries.pause(refusalError(answer), undefined, this.#sessions.isOut);
    }
    this.#refusedBy ??= session;
    try {
      await this.#sessions.renew(this.#operation, session, refusal);
    } catch (error) {
      this.#operation.checkAlive();
      if (!(error instanceof RvmError) || !isOutage(error)) throw error;
      await this.#tries.waitAfterLogin(error, this.#sessions.isOut);
    }
  }

  /**
   * The refusal may be due to an old cookie. From now on requests go one at a time, with a new session, so that the next
   * refusal is certain.
   */
  #doubt(): void {
    this.#endDoubt ??= this.#sessions.memory.doubt();
  }

  get #isCommand(): boolean {
    return requestKind(this.#wanted) === 'command';
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

/**
 * The one session of a Central Station. However many operations wait, there is one login at a time; a refused request is sent
 * once more after one new login, and a second refusal means a missing permission. Transient failures are retried as
 * `RETRY_POLICY` says, until the deadline of the operation; while the circuit is open nothing is sent.
 */
export class StationSession {
  readonly #transport: Transport;
  readonly #origins: Origins;
  readonly #options: LoginOptions;
  readonly #reread = new SingleFlight<void>();
  readonly #health: ServiceHealth;
  readonly #pauses: LoginCooldown;
  readonly #logins: LoginManager;
  readonly #sessions: Sessions<Session>;
  #current: Session | undefined;

  constructor(
    transport: Transport,
    origins: Origins,
    options: LoginOptions,
    timing: StationTiming,
    board: StationStatus,
  ) {
    this.#transport = transport;
    this.#origins = origins;
    this.#options = options;
    this.#health = new ServiceHealth(board, transport.limits, timing, (operation) => this.#probe(operation));
    this.#pauses = new LoginCooldown(timing, transport.limits);
    const memory = new CookieRotationState();
    const means = { transport, origins, options, memory, health: this.#health, pauses: this.#pauses };
    this.#logins = new LoginManager(means, {
      opened: (session) => void (this.#current = session),
      lost: () => void (this.#current = undefined),
      isGood: (...look) => this.#isGood(...look),
    });
    this.#sessions = {
      memory,
      isOut: () => this.#health.isOut,
      open: (operation) => this.#open(operation),
      send: (...request) => this.#send(...request),
      renew: (...refusal) => this.#renew(...refusal),
      denied: (...refusal) => this.#denied(...refusal),
    };
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
  follow(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    return new Pursuit(this.#sessions, this.#transport, operation, wanted).answer();
  }

  /**
   * Requests the System resource again, because a link from it is gone. A session that no longer offers the devices is dropped.
   */
  rereadSystem(operation: Operation): Promise<void> {
    return this.#reread.run(operation, (shared) => this.#lookAgain(shared));
  }

  async #lookAgain(operation: Operation): Promise<void> {
    const tries = new RetryLoop(this.#transport, operation, systemRequest(this.#origins, this.#options));
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
        await tries.waitAfter(error, tries.next(), this.#sessions.isOut);
      }
    }
  }

  /**
   * Requests the System resource itself.
   * @returns the answer for a logged-in client
   * @throws RvmError as `follow`
   */
  system(operation: Operation): Promise<Answer> {
    return this.follow(operation, systemRequest(this.#origins, this.#options));
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
        return await this.#logins.run(operation);
      } catch (error) {
        operation.checkAlive();
        if (operation.once || !(error instanceof RvmError) || !isOutage(error)) throw error;
      }
    }
  }

  /** Sends in the given session; undefined if that was renewed while the request was queued, or the circuit has opened. */
  async #send(
    operation: Operation,
    session: Session,
    wanted: ServiceRequest,
    tried: AttemptOptions,
  ): Promise<CheckedAnswer | undefined> {
    try {
      return await this.#exchange(operation, session, wanted, tried);
    } catch (error) {
      if (error === STALE || error === HELD_UP) return undefined;
      throw error;
    }
  }

  /** Obtains another session after a refusal. */
  async #renew(operation: Operation, session: Session, refusal: CheckedAnswer): Promise<void> {
    if (this.#current !== session) return;
    const { answer } = refusal;
    if (answer.isHeadTooLarge) {
      // If a new session has just not helped, the cause is not cookies but an address that is too long.
      if (!this.#pauses.takeLoginForCookies()) throw answer.statusError();
    } else if (this.#pauses.isOn) {
      await this.rereadSystem(operation);
      const isOfRights = this.#current === session && isPermissionDenied(refusal);
      if (isOfRights) throw this.#pauses.error ?? permissionDenied(answer);
      if (this.#current !== undefined) return;
    }
    await this.#logins.run(operation, session);
  }

  /** Refused right after a login: for a while no further login is made. */
  #denied(session: Session, refusal: Answer): RvmError {
    this.#pauses.beginAfterRefusal(session.loggedInAt);
    return permissionDenied(refusal);
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
    if (this.#current === undefined) await this.#logins.run(operation);
  }

  async #lookAt(operation: Operation, session: Session): Promise<void> {
    const attempt = new Attempt();
    try {
      await this.#renewSystem(operation, session, attempt);
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

  async #renewSystem(operation: Operation, session: Session, attempt: Attempt): Promise<void> {
    const wanted = systemRequest(this.#origins, this.#options);
    const { answer, isRefused } = await this.#exchange(operation, session, wanted, { attempt });
    if (!isRefused) session.system = SystemResource.from(answer, this.#origins);
    else if (this.#current === session) this.#current = undefined;
  }

  async #exchange(
    operation: Operation,
    session: Session,
    wanted: ServiceRequest,
    tried: AttemptOptions,
  ): Promise<CheckedAnswer> {
    const admit = (): void => {
      if (this.#health.isOut) throw HELD_UP;
      if (this.#current !== undefined && this.#current !== session) throw STALE;
    };
    try {
      const judged = await session.http.try(operation, operation.isProbe ? wanted : { ...wanted, admit }, {
        ...tried,
        isLoggedOut: logoutTest(wanted, this.#origins),
      });
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

/** The session was renewed while the request was queued; it is sent in the new session. */
const STALE = new RvmError('CANCELLED', 'The session was renewed before the request was sent.');
/** The circuit opened while the request was queued; it is sent when the circuit closes. */
const HELD_UP = new RvmError('CANCELLED', 'The service was out of reach before the request was sent.');
