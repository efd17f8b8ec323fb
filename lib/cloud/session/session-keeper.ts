import { RvmError } from '../../error';
import type { Answer } from '../http/answer';
import { DIALECT } from '../dialect';
import { HttpSession } from './http-session';
import { logIn, systemRequest, type LoginOptions } from './login';
import { Operation } from '../operation';
import type { Origins, TrustedUrl } from '../http/origin';
import { isSignOfLife, ServiceHealth } from './service-health';
import { SingleFlight } from '../single-flight';
import type { StateBoard } from './station-state';
import { SystemResource } from './system-resource';
import type { StationTiming } from '../timing';
import type { ServiceRequest, Transport } from '../http/transport';

interface Session {
  readonly http: HttpSession;
  system: SystemResource;
  readonly loggedInAt: number;
}

/** An answer, and the session that it was given to. */
interface Sent {
  readonly session: Session;
  readonly answer: Answer;
}

/**
 * The one session of a Central Station. However many operations wait, there is one login at a time; a refused
 * request is sent once more after one new login, and never again. While the circuit of the service is open, all calls fail
 * at once.
 */
export class SessionKeeper {
  readonly #transport: Transport;
  readonly #origins: Origins;
  readonly #options: LoginOptions;
  readonly #timing: StationTiming;
  readonly #login = new SingleFlight<Session>();
  readonly #reread = new SingleFlight<void>();
  readonly #health: ServiceHealth;
  #current: Session | undefined;
  #noLoginUntil = 0;
  /** Why there is no login until then, where it is one that failed. */
  #loginError: RvmError | undefined;

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
    this.#timing = timing;
    this.#health = new ServiceHealth(board, transport.limits, timing, (operation) => this.#probe(operation));
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
  async follow(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    const first = await this.#send(operation, wanted);
    if (!first.answer.refused) return succeeded(first.answer, 0);
    await this.#renew(operation, first);
    const second = await this.#send(operation, wanted);
    if (!second.answer.refused) return succeeded(second.answer, 1);
    this.#noLoginUntil = second.session.loggedInAt + this.#timing.refusalMs;
    this.#loginError = undefined;
    throw permissionDenied(second.answer, 1);
  }

  /**
   * Asks for the System resource anew, because a link known from it is gone. A session that no longer offers
   * the devices is dropped.
   */
  rereadSystem(operation: Operation): Promise<void> {
    return this.#reread.run(operation, async (shared) => {
      const session = this.#current;
      if (session !== undefined) await this.#lookAt(shared, session);
    });
  }

  /**
   * Follows no link: asks for the System resource itself. A lost session is not refused there, it is only shown less: an
   * answer without the devices counts as a refusal.
   * @throws RvmError as `follow`
   */
  async system(operation: Operation): Promise<Answer> {
    const wanted = systemRequest(this.#origins, this.#options);
    const session = await this.#open(operation);
    const answer = await this.follow(operation, wanted);
    if (SystemResource.from(answer, this.#origins).link(DIALECT.relations.devices) !== undefined)
      return answer;
    if (this.#current === session) this.#current = undefined;
    return this.follow(operation, wanted);
  }

  /**
   * Asks for a sign of life, in one attempt. While the circuit is open it is probed for already.
   * @throws RvmError where there is none; the state tells it
   */
  async askForLife(): Promise<void> {
    this.#health.check();
    await this.#probe(new Operation({ once: true }));
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
    this.#health.check();
    return this.#current ?? this.#login.run(operation, (shared) => this.#logIn(shared));
  }

  /** With the session of the moment; one that is renewed while the request waits in line is replaced. */
  async #send(operation: Operation, wanted: ServiceRequest): Promise<Sent> {
    const session = await this.#open(operation);
    try {
      return { session, answer: await this.#exchange(operation, session, wanted) };
    } catch (error) {
      if (error !== STALE) throw error;
      return this.#send(operation, wanted);
    }
  }

  /** Sees to another session in place of one that was refused. */
  async #renew(operation: Operation, { session, answer }: Sent): Promise<void> {
    if (this.#current !== session) return;
    if (performance.now() < this.#noLoginUntil) {
      await this.rereadSystem(operation);
      if (this.#current === session) throw this.#loginError ?? permissionDenied(answer, 0);
      if (this.#current !== undefined) return;
    }
    await this.#login.run(operation, (shared) => this.#logIn(shared, session));
  }

  /** @param old a session that was refused something */
  async #logIn(operation: Operation, old?: Session): Promise<Session> {
    this.#health.loggingIn();
    try {
      const http = new HttpSession(this.#transport, this.#origins);
      const system = await logIn(operation, http, this.#origins, this.#options);
      const session = { http, system, loggedInAt: performance.now() };
      this.#current = session;
      this.#health.reachable(session.system.version);
      return session;
    } catch (error) {
      if (error instanceof RvmError) await this.#noteLoginFailure(operation, error, old);
      throw error;
    }
  }

  /** The old session may be good for all else: then only the call that was refused fails. */
  async #noteLoginFailure(operation: Operation, error: RvmError, old: Session | undefined): Promise<void> {
    if (error.code === 'CANCELLED') {
      this.#health.loginCancelled();
      return;
    }
    if (old !== undefined && (await this.#isGood(operation, old))) {
      this.#noLoginUntil = performance.now() + this.#timing.refusalMs;
      this.#loginError = error;
      return;
    }
    this.#current = undefined;
    this.#health.giveUp(error);
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
    if (this.#current === undefined) await this.#login.run(operation, (shared) => this.#logIn(shared));
  }

  async #lookAt(operation: Operation, session: Session): Promise<void> {
    try {
      await this.#renewSystem(operation, session);
    } catch (error) {
      if (error === STALE) return;
      if (!(error instanceof RvmError)) throw error;
      if (!isSignOfLife(error)) {
        this.#health.systemFailed(error);
        throw error;
      }
    }
    if (this.#current === session) this.#health.reachable(session.system.version);
  }

  async #renewSystem(operation: Operation, session: Session): Promise<void> {
    const answer = await this.#exchange(operation, session, systemRequest(this.#origins, this.#options));
    const system = answer.refused ? undefined : SystemResource.from(answer, this.#origins);
    if (system?.link(DIALECT.relations.devices) !== undefined) session.system = system;
    else if (this.#current === session) this.#current = undefined;
  }

  async #exchange(operation: Operation, session: Session, wanted: ServiceRequest): Promise<Answer> {
    let isSent = operation.once;
    const admit = (): void => {
      this.#health.check();
      if (this.#current !== undefined && this.#current !== session) throw STALE;
      isSent = true;
    };
    try {
      const answer = await session.http.exchange(operation, operation.once ? wanted : { ...wanted, admit });
      // Whether a System resource can be used shows when it is read.
      const isProof = this.#health.answered(wanted, answer) && wanted.relation !== 'system';
      if (isProof && this.#current === session) this.#health.reachable(session.system.version);
      return answer;
    } catch (error) {
      if (isSent) this.#health.failed(wanted, error);
      throw error;
    }
  }
}

/** Ends a request that waited in line while its session was renewed: it goes out with the new one. */
const STALE = new RvmError('CANCELLED', 'The session was renewed before the request was sent.');

/** @param before attempts that went before */
function succeeded(answer: Answer, before: number): Answer {
  if (answer.ok) return answer;
  throw answer.statusError(before);
}

function permissionDenied(answer: Answer, before: number): RvmError {
  return answer.error(
    'PERMISSION_DENIED',
    `The service refuses ${answer.relation} to this Agent User; check its rights and what the customer has granted.`,
    before,
  );
}
