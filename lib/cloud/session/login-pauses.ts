import type { RvmError } from '../../error';
import type { RateLimits } from '../http/rate-limits';
import { isOutage } from '../http/sent-again';
import type { StationTiming } from '../timing';

/**
 * While which no further login is made, because one has just not helped: a link was refused all the same, or it has failed beside
 * a session that is good.
 */
export class LoginPauses {
  readonly #timing: StationTiming;
  readonly #limits: RateLimits;
  #until = 0;
  #error: RvmError | undefined;
  #noneForCookiesUntil = 0;

  /** @param limits what the service has asked for counts, too */
  constructor(timing: StationTiming, limits: RateLimits) {
    this.#timing = timing;
    this.#limits = limits;
  }

  /** Whether there is one now. */
  get isOn(): boolean {
    return performance.now() < this.#until;
  }

  /** Why there is one, where that is a login that failed. */
  get error(): RvmError | undefined {
    return this.#error;
  }

  /** There is a new session: it may help. */
  end(): void {
    this.#until = 0;
    this.#error = undefined;
  }

  /** @param loggedInAt when the session was opened to which something was refused all the same, as of `performance.now()` */
  beginAfterRefusal(loggedInAt: number): void {
    this.#until = loggedInAt + this.#timing.refusalMs;
    this.#error = undefined;
  }

  /** @param error that of a login that has failed */
  beginAfterFailure(error: RvmError): void {
    this.#until = performance.now() + this.#pauseAfter(error);
    this.#error = error;
  }

  /**
   * A login is to be made because of cookies that have grown: there is one in a while.
   * @returns false where one was made already
   */
  takeLoginForCookies(): boolean {
    const now = performance.now();
    if (now < this.#noneForCookiesUntil) return false;
    this.#noneForCookiesUntil = now + this.#timing.refusalMs;
    return true;
  }

  #pauseAfter(error: RvmError): number {
    const { probeMs, refusalMs } = this.#timing;
    const asked = this.#limits.against({ relation: error.cause.relation ?? '' })?.ms ?? 0;
    return Math.max(asked, isOutage(error) ? probeMs : refusalMs);
  }
}
