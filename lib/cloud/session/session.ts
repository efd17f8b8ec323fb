import { toError, RvmError } from '../../error';
import { Answer } from '../http/answer';
import type { Origins, TrustedUrl } from '../http/origins';
import { failureOf, isOutage, RETRY_POLICY, timeoutError } from '../http/retry-policy';
import { requestKind, type ServiceRequest, type Transport } from '../http/transport';
import { Attempt, Operation, SingleFlight } from '../operation';
import { backoff, type StationTiming } from '../timing';
import {
  isQuestionOfRights,
  type CheckedAnswer,
  CookieRotationState,
  type AttemptOptions,
} from './cookie-session';
import { type LoginOptions, LoginCooldown, LoginManager, type Session } from './login';
import { isSignOfLife, ServiceHealth, type StationStatus } from './service-health';
import { logoutTest, systemRequest, SystemResource } from './system';

/** The attempts at one request: counts them, and waits between them for as long as its operation has time. */
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

  /** @param former the attempt before: counts only if it was sent */
  next(former?: Attempt): Attempt {
    if (former?.isSent === true) this.#sent += 1;
    return new Attempt(this.#sent + 1);
  }

  /**
   * Waits until the request may be sent again.
   * @param outcome an answer that is no success and no refusal, or why there is none
   * @param isHeldUp whether the circuit is open: then that is what it waits for, and no pause
   * @throws RvmError the error of the outcome, where it is final or no time is left
   */
  async waitAfter(outcome: Answer | RvmError, attempt: Attempt, isHeldUp: () => boolean): Promise<void> {
    const error = outcome instanceof Answer ? outcome.statusError() : outcome;
    if (RETRY_POLICY[failureOf(error, attempt.isSent)][requestKind(this.#wanted)] === 'never') throw error;
    await this.pause(error, askedFor(outcome) ?? this.#transport.limits.against(this.#wanted)?.ms, isHeldUp);
  }

  /**
   * The same after a login that has failed.
   * @throws RvmError this error, where no time is left
   */
  waitAfterLogin(error: RvmError, isHeldUp: () => boolean): Promise<void> {
    const limit = this.#transport.limits.against({ relation: error.cause.relation ?? '' });
    return this.pause(error, limit?.ms, isHeldUp);
  }

  /**
   * A pause that grows with each failure, or the one that the service has asked for and a little more, so that not all come
   * back at one moment.
   * @throws RvmError this error, where no time is left
   */
  async pause(error: RvmError, asked: number | undefined, isHeldUp: () => boolean): Promise<void> {
    const { retryMs, longestRetryMs } = this.#transport.timing;
    this.#failures += 1;
    // Towards the end of the time shorter ones: what is left shall not be one pause.
    const left = this.#operation.until - performance.now();
    const longest = Math.max(retryMs, Math.min(longestRetryMs, left / 2));
    const pause = backoff(this.#failures, retryMs, longest);
    if (!this.#operation.mayWait(error, Math.max(pause, asked ?? 0))) throw error;
    if (isHeldUp()) return;
    const wait = asked === undefined ? pause : Math.max(pause, asked + backoff(1, retryMs));
    await this.#transport.pause(this.#operation, this.#wanted.relation, wait);
  }
}

function askedFor(outcome: Answer | RvmError): number | undefined {
  return outcome instanceof Answer ? outcome.retryAfterMs : undefined;
}

/** What a pursuit needs of the station. */
interface Sessions<Session> {
  readonly memory: CookieRotationState;
  /** Whether nothing is sent at present. */
  isOut: () => boolean;
  /** The session of the moment, once something may be sent. */
  open: (operation: Operation) => Session | Promise<Session>;
  /** Undefined where it was not sent, because the session has been renewed or nothing is sent any more. */
  send: (
    operation: Operation,
    session: Session,
    wanted: ServiceRequest,
    tried: AttemptOptions,
  ) => Promise<CheckedAnswer | undefined>;
  /** Sees to another session in place of one that has refused. */
  renew: (operation: Operation, session: Session, refusal: CheckedAnswer) => Promise<void>;
  /** What is said of a refusal that is a question of rights. */
  denied: (session: Session, refusal: Answer) => RvmError;
}

/** One request on its way to a success, however often it has to be sent for that. */
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

  /** @returns undefined where it is to be tried again, now */
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
    // Of a command that is on its way when the time is over, nobody knows whether it is carried out; whatever was waited for before.
    const isLate = this.#operation.isOver && error.code !== 'CANCELLED';
    if (isLate && this.#isCommand && this.#attempt.isSent) {
      throw timeoutError(this.#wanted, this.#attempt.number);
    }
    this.#operation.checkAlive();
    await this.#tries.waitAfter(error, this.#attempt, this.#sessions.isOut);
  }

  async #refused(session: Session, refusal: CheckedAnswer): Promise<void> {
    const { answer, isCertain } = refusal;
    const isOfRights = isQuestionOfRights(refusal);
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

  /** The refusal may be that of an old cookie. From now on it goes alone, with a new session, so that the next one is certain. */
  #doubt(): void {
    this.#endDoubt ??= this.#sessions.memory.doubt();
  }

  get #isCommand(): boolean {
    return requestKind(this.#wanted) === 'command';
  }
}

/** The error of a refusal that may pass. */
function refusalError(answer: Answer): RvmError {
  if (answer.refused) return answer.statusError();
  return answer.error(
    'HTTP_ERROR',
    `The service answered ${answer.relation} as to somebody who is not logged in; try again in a while, or report it to the service.`,
  );
}

/** The error of a refusal that is a question of rights. */
function permissionDenied(answer: Answer): RvmError {
  return answer.error(
    'PERMISSION_DENIED',
    `The service refuses ${answer.relation} to this Agent User; check its rights and what the customer has granted.`,
  );
}

/**
 * The one session of a Central Station. However many operations wait, there is one login at a time; a refused
 * request is sent once more after one new login, and what is refused then is a question of rights. What fails in passing is sent
 * again as `RETRY_POLICY` says, until the deadline of its operation; while the circuit of the service is open nothing is.
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
   * An address of the System resource, after login if need be.
   * @throws RvmError LINK_NOT_OFFERED, UNTRUSTED_LINK, and those of the login
   */
  async link(operation: Operation, relation: string): Promise<TrustedUrl> {
    const session = await this.#open(operation);
    return session.system.requireLink(relation);
  }

  /**
   * Follows a link. On 401 or 403 one login is made, shared by all who wait for it, and the request is sent once more: a
   * refused one was not carried out, so that holds for a POST too. Others use the old session until there is a new one.
   * @returns an answer with a status of success
   * @throws RvmError PERMISSION_DENIED, RATE_LIMITED, HTTP_ERROR, and those of the login and the transport
   */
  follow(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    return new Pursuit(this.#sessions, this.#transport, operation, wanted).answer();
  }

  /**
   * Asks for the System resource anew, because a link known from it is gone. A session that no longer offers
   * the devices is dropped.
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
   * Follows no link: asks for the System resource itself.
   * @returns it as one sees it who is logged in
   * @throws RvmError as `follow`
   */
  system(operation: Operation): Promise<Answer> {
    return this.follow(operation, systemRequest(this.#origins, this.#options));
  }

  /**
   * Asks for a sign of life, in one attempt; while the circuit is open it is probed for already.
   * @throws RvmError where there is none; the state tells it
   */
  async askForLife(): Promise<void> {
    if (this.#health.isOut) return;
    await this.#probe(new Operation({ once: true, isProbe: true }));
  }

  /** Whether nothing is sent but probes. */
  get isOut(): boolean {
    return this.#health.isOut;
  }

  /** Milliseconds that the clock of the service is ahead of that of this machine; undefined where no answer has told. */
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

  /** A login that fails in passing opens the circuit: the next one is that of a probe. */
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

  /** With the session of the moment: undefined where that was renewed while the request waited in line, or nothing is sent. */
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

  /** Sees to another session in place of one that has refused something. */
  async #renew(operation: Operation, session: Session, refusal: CheckedAnswer): Promise<void> {
    if (this.#current !== session) return;
    const { answer } = refusal;
    if (answer.isHeadTooLarge) {
      // Where a new session has just not helped it is no cookies, but an address that is too long.
      if (!this.#pauses.takeLoginForCookies()) throw answer.statusError();
    } else if (this.#pauses.isOn) {
      await this.rereadSystem(operation);
      const isOfRights = this.#current === session && isQuestionOfRights(refusal);
      if (isOfRights) throw this.#pauses.error ?? permissionDenied(answer);
      if (this.#current !== undefined) return;
    }
    await this.#logins.run(operation, session);
  }

  /** Refused right after a fresh login: for a while no further one is made. */
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
   * A sign of life of the service, and a session that works. Any answer is one, but those of a gateway that does not reach the
   * service; only a refusal, or a System resource without the devices, ends the session.
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
      // The service has asked for fewer requests: nothing is known of it then.
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
      // Whether a System resource can be used shows when it is read.
      const isProof = this.#health.answered(wanted, judged.answer) && wanted.relation !== 'system';
      if (isProof && this.#current === session) this.#health.reachable(session.system.version);
      return judged;
    } catch (error) {
      // Who has given up in line says nothing of the service, and who had little time for the answer not much.
      if (!operation.isOver) this.#health.failed(wanted, error);
      else if (tried.attempt.isSent) this.#health.doubted(error);
      throw error;
    }
  }
}

/** Ends a request that waited in line while its session was renewed: it goes out with the new one. */
const STALE = new RvmError('CANCELLED', 'The session was renewed before the request was sent.');
/** Ends a request that waited in line while the service went out of reach: it goes out once that is back. */
const HELD_UP = new RvmError('CANCELLED', 'The service was out of reach before the request was sent.');
