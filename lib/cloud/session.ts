import { RvmError } from '../error';
import type { Answer } from './answer';
import { DIALECT, type StationTiming } from './dialect';
import { askSystem, logIn, type LoginOptions } from './login';
import type { Operation } from './operation';
import type { Origins, TrustedUrl } from './origin';
import { SingleFlight } from './single-flight';
import { isRefusal, type StateBoard } from './station-state';
import { SystemResource } from './system-resource';
import type { HttpSession, ServiceRequest, Transport } from './transport';

interface Session {
  readonly http: HttpSession;
  system: SystemResource;
  readonly loggedInAt: number;
}

interface LoginFailure {
  readonly error: RvmError;
  readonly at: number;
}

/** Failures of these say something about the whole service, not about one camera. */
const CENTRAL: ReadonlySet<string> = new Set(['system', DIALECT.relations.login, DIALECT.relations.devices]);

/**
 * The one session of a Central Station. However many operations wait, there is one login at a time; a refused
 * request is sent once more after one new login, and never again.
 */
export class SessionKeeper {
  readonly #transport: Transport;
  readonly #origins: Origins;
  readonly #options: LoginOptions;
  readonly #timing: StationTiming;
  readonly #board: StateBoard;
  readonly #login = new SingleFlight<Session>();
  readonly #reread = new SingleFlight<void>();
  #current: Session | undefined;
  #loginFailure: LoginFailure | undefined;
  #offlineSince: Date | undefined;
  #noLoginUntil = 0;

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
    this.#board = board;
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
   * Follows a link. On 401 or 403 the session is dropped, one login is made, shared by all who wait for it, and
   * the request is sent once more: a refused one was not carried out, so that holds for a POST too.
   * @returns an answer with a status of success
   * @throws RvmError PERMISSION_DENIED, RATE_LIMITED, HTTP_ERROR, and those of the login and the transport
   */
  async follow(operation: Operation, wanted: ServiceRequest): Promise<Answer> {
    const session = await this.#open(operation);
    const first = await this.#exchange(operation, session, wanted);
    if (!first.refused) return succeeded(first, 1);
    if (this.#current === session) this.#dropRefused(first);

    const renewed = await this.#open(operation);
    const second = await this.#exchange(operation, renewed, wanted);
    if (!second.refused) return succeeded(second, 2);
    this.#noLoginUntil = renewed.loggedInAt + this.#timing.refusalMs;
    throw permissionDenied(second, 2);
  }

  /**
   * Asks for the System resource anew, because a link known from it is gone. A session that no longer offers
   * the devices is dropped.
   */
  rereadSystem(operation: Operation): Promise<void> {
    return this.#reread.run(operation, async (shared) => {
      const session = this.#current;
      if (session === undefined) return;
      const answer = await askSystem(shared, session.http, this.#origins, this.#options);
      const system = answer.refused ? undefined : SystemResource.from(answer, this.#origins);
      if (system?.link(DIALECT.relations.devices) !== undefined) session.system = system;
      else if (this.#current === session) this.#current = undefined;
    });
  }

  #open(operation: Operation): Promise<Session> {
    if (this.#current !== undefined) return Promise.resolve(this.#current);
    const failure = this.#loginFailure;
    if (failure !== undefined && performance.now() - failure.at < this.#timing.loginPauseMs) {
      return Promise.reject(failure.error);
    }
    return this.#login.run(operation, (shared) => this.#logIn(shared));
  }

  async #logIn(operation: Operation): Promise<Session> {
    this.#board.loggingIn();
    try {
      const http = this.#transport.newSession(this.#origins);
      const system = await logIn(operation, http, this.#origins, this.#options);
      const session = { http, system, loggedInAt: performance.now() };
      this.#current = session;
      this.#loginFailure = undefined;
      this.#reachable(session);
      return session;
    } catch (error) {
      if (error instanceof RvmError) this.#noteLoginFailure(error);
      throw error;
    }
  }

  #noteLoginFailure(error: RvmError): void {
    if (error.code === 'CANCELLED') {
      this.#board.idle();
      return;
    }
    if (isRefusal(error)) this.#loginFailure = { error, at: performance.now() };
    this.#unreachable(error);
  }

  async #exchange(operation: Operation, session: Session, wanted: ServiceRequest): Promise<Answer> {
    try {
      const answer = await session.http.exchange(operation, wanted);
      if (this.#current === session) this.#reachable(session);
      return answer;
    } catch (error) {
      if (error instanceof RvmError && isOutage(error)) this.#unreachable(error);
      throw error;
    }
  }

  #reachable(session: Session): void {
    this.#offlineSince = undefined;
    this.#board.connected(session.system.version);
  }

  #unreachable(error: RvmError): void {
    this.#offlineSince ??= new Date();
    this.#board.failed(error, this.#offlineSince);
  }

  #dropRefused(refused: Answer): void {
    if (performance.now() < this.#noLoginUntil) throw permissionDenied(refused, 1);
    this.#current = undefined;
  }
}

function succeeded(answer: Answer, attempts: number): Answer {
  if (answer.ok) return answer;
  throw answer.statusError(attempts);
}

function permissionDenied(answer: Answer, attempts: number): RvmError {
  return answer.error(
    'PERMISSION_DENIED',
    `The service refuses ${answer.relation} to this Agent User; check its rights and what the customer has granted.`,
    attempts,
  );
}

function isOutage(error: RvmError): boolean {
  if (error.code === 'NETWORK' || error.code === 'TLS') return true;
  return error.code === 'TIMEOUT' && CENTRAL.has(error.cause.relation ?? '');
}
