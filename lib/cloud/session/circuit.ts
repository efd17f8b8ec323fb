import type { RvmError } from '../../error';
import { isOutage } from '../http/sent-again';
import { closedError } from '../http/transport-error';
import { Operation } from '../operation';
import { growingPause, type StationTiming } from '../timing';

/** Looks whether its wait is over. */
type Waiter = () => void;

/**
 * The circuit breaker of one Central Station. It opens after some outages in a row, and at once when a login fails. While it is
 * open nothing is sent but one probe per step of a growing pause, which tries whether the service is back. What an outage has
 * opened is waited for, and the probe that succeeds wakes all who wait; what only a person can cure fails them at once. So the
 * load on a service in trouble does not depend on the number of messages, and a station recovers without any.
 */
export class Circuit {
  readonly #timing: StationTiming;
  readonly #probe: (operation: Operation) => Promise<void>;
  readonly #waiters = new Set<Waiter>();
  #outages = 0;
  #steps = 0;
  #openedBy: RvmError | undefined;
  #notBefore = 0;
  /** When the pause before the next probe began, and when that comes. */
  #restsSince = 0;
  #probeAt = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #probing = false;
  #closed = false;

  /** @param probe asks the service for a sign of life; rejects where there is none */
  constructor(timing: StationTiming, probe: (operation: Operation) => Promise<void>) {
    this.#timing = timing;
    this.#probe = probe;
  }

  /** Whether nothing is to be sent: also while it is being probed. */
  get isOpen(): boolean {
    return this.#openedBy !== undefined;
  }

  /**
   * Waits until something may be sent: undefined where it may now.
   * @throws RvmError what opened it, where the operation does not wait for that, or not until the next probe
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

  /** Why the operation is not to wait any longer, if so. */
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

  /** Somebody waits now: the next probe comes when it would have come for them. */
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

  /** Later than it was said already it does not come, but for what the service asks for. */
  #startTimer(): void {
    const { probeMs, longestProbeMs, longestAwaitedProbeMs } = this.#timing;
    const longest = this.#waiters.size > 0 ? Math.min(longestProbeMs, longestAwaitedProbeMs) : longestProbeMs;
    const at = this.#restsSince + growingPause(this.#steps, probeMs, longest);
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
    // What a failed probe says of the service has been told by whoever sent its requests.
    const isAlive = await this.#probe(new Operation({ once: true, isProbe: true })).then(
      () => true,
      () => false,
    );
    this.#probing = false;
    if (isAlive) this.succeeded();
    else this.#probeLater();
  }
}
