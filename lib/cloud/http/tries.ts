import type { RvmError } from '../../error';
import type { Operation } from '../operation';
import { growingPause } from '../timing';
import { Answer } from './answer';
import { Attempt } from './attempt';
import { failureOf, SENT_AGAIN } from './sent-again';
import { requestKind, type ServiceRequest, type Transport } from './transport';

/** The attempts at one request: counts them, and waits between them for as long as its operation has time. */
export class Tries {
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
    if (SENT_AGAIN[failureOf(error, attempt.isSent)][requestKind(this.#wanted)] === 'never') throw error;
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
    const pause = growingPause(this.#failures, retryMs, longest);
    if (!this.#operation.mayWait(error, Math.max(pause, asked ?? 0))) throw error;
    if (isHeldUp()) return;
    const wait = asked === undefined ? pause : Math.max(pause, asked + growingPause(1, retryMs));
    await this.#transport.pause(this.#operation, this.#wanted.relation, wait);
  }
}

function askedFor(outcome: Answer | RvmError): number | undefined {
  return outcome instanceof Answer ? outcome.retryAfterMs : undefined;
}
