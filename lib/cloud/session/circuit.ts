import type { RvmError } from '../../error';
import { Operation } from '../operation';
import { growingPause, type StationTiming } from '../timing';

/**
 * The circuit breaker of one Central Station. It opens after some outages in a row, and at once when a login fails. While
 * it is open every call fails at once with the error that opened it; one probe per step of a growing pause, and nothing
 * else, tries whether the service is back. So the load on a service in trouble does not depend on the number of messages,
 * and a station recovers without any.
 */
export class Circuit {
  readonly #timing: StationTiming;
  readonly #probe: (operation: Operation) => Promise<void>;
  #outages = 0;
  #steps = 0;
  #openedBy: RvmError | undefined;
  #notBefore = 0;
  #timer: NodeJS.Timeout | undefined;
  #probing = false;
  #closed = false;

  /** @param probe asks the service for a sign of life; rejects where there is none */
  constructor(timing: StationTiming, probe: (operation: Operation) => Promise<void>) {
    this.#timing = timing;
    this.#probe = probe;
  }

  /** @throws RvmError the last error, at once, while the circuit is open: also while it is being probed */
  check(): void {
    if (this.#openedBy !== undefined) throw this.#openedBy;
  }

  /** The service has answered. */
  succeeded(): void {
    this.#outages = 0;
    this.#steps = 0;
    this.#openedBy = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
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

  /** Ends probing. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #probeLater(): void {
    if (this.#closed || this.#timer !== undefined || this.#probing) return;
    this.#steps += 1;
    const { probeMs, longestProbeMs } = this.#timing;
    const asked = this.#notBefore - performance.now();
    const pause = Math.max(growingPause(this.#steps, probeMs, longestProbeMs), asked);
    this.#timer = setTimeout(() => void this.#probeNow(), pause);
    this.#timer.unref();
  }

  async #probeNow(): Promise<void> {
    this.#timer = undefined;
    this.#probing = true;
    // What a failed probe says of the service has been told by whoever sent its requests.
    const isAlive = await this.#probe(new Operation({ once: true })).then(
      () => true,
      () => false,
    );
    this.#probing = false;
    if (isAlive) this.succeeded();
    else this.#probeLater();
  }
}
