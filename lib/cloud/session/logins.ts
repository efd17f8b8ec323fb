import { RvmError } from '../../error';
import type { Origins } from '../http/origin';
import type { Transport } from '../http/transport';
import type { Operation } from '../operation';
import { SingleFlight } from '../single-flight';
import type { RotationMemory } from './cookie-rotation';
import { HttpSession } from './http-session';
import { logIn, type LoginOptions } from './login';
import type { LoginPauses } from './login-pauses';
import type { ServiceHealth } from './service-health';
import type { SystemResource } from './system-resource';

export interface Session {
  readonly http: HttpSession;
  /** As it was last shown. */
  system: SystemResource;
  /** As of `performance.now()`. */
  readonly loggedInAt: number;
}

/** What it takes to log in. */
interface Means {
  readonly transport: Transport;
  readonly origins: Origins;
  readonly options: LoginOptions;
  readonly memory: RotationMemory;
  readonly health: ServiceHealth;
  readonly pauses: LoginPauses;
}

/** Who uses the sessions. */
interface User {
  opened: (session: Session) => void;
  /** There is no session any more. */
  lost: () => void;
  /** Whether a session that was refused something is good for all else. */
  isGood: (operation: Operation, session: Session) => Promise<boolean>;
}

/** Opens the sessions of one Central Station, one at a time however many wait for it. */
export class Logins {
  readonly #means: Means;
  readonly #user: User;
  readonly #flight = new SingleFlight<Session>();
  /** Of the last login that has succeeded, also where it is not used any more. */
  #latest: HttpSession | undefined;

  constructor(means: Means, user: User) {
    this.#means = means;
    this.#user = user;
  }

  /**
   * Joins the login under way, or begins one.
   * @param old a session that was refused something
   * @throws RvmError those of `logIn`
   */
  run(operation: Operation, old?: Session): Promise<Session> {
    return this.#flight.run(operation, (shared) => this.#logIn(shared, old));
  }

  async #logIn(operation: Operation, old: Session | undefined): Promise<Session> {
    const { transport, origins, options, memory, health, pauses } = this.#means;
    health.loggingIn();
    try {
      const http = new HttpSession(transport, origins, memory);
      const work = () => logIn(operation, http, origins, options, transport);
      const system = await (this.#latest?.whileQuiet(operation, work) ?? work());
      const session = { http, system, loggedInAt: performance.now() };
      this.#latest = http;
      this.#user.opened(session);
      pauses.end();
      health.reachable(session.system.version);
      return session;
    } catch (error) {
      if (error instanceof RvmError) await this.#noteFailure(operation, error, old);
      throw error;
    }
  }

  /** The old session may be good for all else: then only the call that was refused fails. */
  async #noteFailure(operation: Operation, error: RvmError, old: Session | undefined): Promise<void> {
    const { health, pauses } = this.#means;
    if (error.code === 'CANCELLED') {
      health.loginCancelled();
      return;
    }
    if (old !== undefined && (await this.#user.isGood(operation, old))) {
      pauses.beginAfterFailure(error);
      return;
    }
    this.#user.lost();
    health.giveUp(error);
  }
}
