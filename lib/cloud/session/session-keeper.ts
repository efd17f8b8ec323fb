import { RvmError } from '../../error';
import type { Answer } from '../http/answer';
import { Attempt } from '../http/attempt';
import { isOutage } from '../http/sent-again';
import { Tries } from '../http/tries';
import { isQuestionOfRights, RotationMemory, type Judged, type Tried } from './cookie-rotation';
import type { LoginOptions } from './login';
import { LoginPauses } from './login-pauses';
import { Logins, type Session } from './logins';
import { Operation } from '../operation';
import type { Origins, TrustedUrl } from '../http/origin';
import { permissionDenied, Pursuit, type Sessions } from './pursuit';
import { isSignOfLife, ServiceHealth } from './service-health';
import { SingleFlight } from '../single-flight';
import type { StateBoard } from './station-state';
import { logoutTest, systemRequest } from './system-request';
import { SystemResource } from './system-resource';
import type { StationTiming } from '../timing';
import type { ServiceRequest, Transport } from '../http/transport';

/**
 * The one session of a Central Station. However many operations wait, there is one login at a time; a refused
 * request is sent once more after one new login, and what is refused then is a question of rights. What fails in passing is sent
 * again as `SENT_AGAIN` says, until the deadline of its operation; while the circuit of the service is open nothing is.
 */
export class SessionKeeper {
  readonly #transport: Transport;
  readonly #origins: Origins;
  readonly #options: LoginOptions;
  readonly #reread = new SingleFlight<void>();
  readonly #health: ServiceHealth;
  readonly #pauses: LoginPauses;
  readonly #logins: Logins;
  readonly #sessions: Sessions<Session>;
  #current: Session | undefined;

  constructor(
    transport: Transport,
    origins: Origins,
    options: LoginOptions,
    timing: StationTiming,
    board: StateBoard,
  ) {
    this.#transport = transport;
    this.#origins = origins;
    this.#options = options;
    this.#health = new ServiceHealth(board, transport.limits, timing, (operation) => this.#probe(operation));
    this.#pauses = new LoginPauses(timing, transport.limits);
    const memory = new RotationMemory();
    const means = { transport, origins, options, memory, health: this.#health, pauses: this.#pauses };
    this.#logins = new Logins(means, {
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
    const tries = new Tries(this.#transport, operation, systemRequest(this.#origins, this.#options));
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
    tried: Tried,
  ): Promise<Judged | undefined> {
    try {
      return await this.#exchange(operation, session, wanted, tried);
    } catch (error) {
      if (error === STALE || error === HELD_UP) return undefined;
      throw error;
    }
  }

  /** Sees to another session in place of one that has refused something. */
  async #renew(operation: Operation, session: Session, refusal: Judged): Promise<void> {
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
    tried: Tried,
  ): Promise<Judged> {
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
