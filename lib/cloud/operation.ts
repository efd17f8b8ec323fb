import { RvmError } from '../error';
import { asError } from './as-error';

export interface OperationOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds for the whole operation; `end` must be called where there is a deadline. */
  deadlineMs?: number | undefined;
  /** Nothing is tried more than once: it is asked again by other means. */
  once?: boolean;
}

/**
 * One thing the user asked for. It carries the caller's abort signal and deadline, and counts the HTTP requests it caused.
 * Work that several operations share counts for the one that started it.
 */
export class Operation {
  readonly signal: AbortSignal | undefined;
  readonly once: boolean;
  readonly #tally: { requests: number };
  readonly #startedAt = performance.now();
  #end: () => void = () => undefined;

  constructor({ signal, deadlineMs, once = false }: OperationOptions = {}, tally = { requests: 0 }) {
    this.signal = deadlineMs === undefined ? signal : this.#withDeadline(signal, deadlineMs);
    this.once = once;
    this.#tally = tally;
  }

  get requests(): number {
    return this.#tally.requests;
  }

  /** Milliseconds since the start. */
  get ms(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  countRequest(): void {
    this.#tally.requests += 1;
  }

  /** The same count without the caller's abort: for shared work, which one caller must not cancel for all. */
  shared(): Operation {
    return new Operation({ once: this.once }, this.#tally);
  }

  /** The same, for what is a hint alone: nothing is tried more than once. */
  tryingOnce(): Operation {
    return new Operation({ signal: this.signal, once: true }, this.#tally);
  }

  /** Leaves no timer behind. */
  end(): void {
    this.#end();
  }

  /** @throws RvmError CANCELLED or TIMEOUT if the caller has given up. */
  checkAlive(): void {
    if (this.signal?.aborted === true) throw abortError(this.signal);
  }

  /** Waits for shared work, but no longer than the caller does; the work itself goes on. */
  async waitFor<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    if (signal === undefined) return work;
    return new Promise<T>((resolve, reject) => {
      const onAbort = () => reject(abortError(signal));
      const settle = (done: () => void) => {
        signal.removeEventListener('abort', onAbort);
        done();
      };
      work.then(
        (value) => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(asError(error))),
      );
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
    });
  }

  #withDeadline(signal: AbortSignal | undefined, deadlineMs: number): AbortSignal {
    const own = new AbortController();
    const timer = setTimeout(() => own.abort(deadlineError()), deadlineMs);
    const onAbort = (): void => own.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted === true) onAbort();
    this.#end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    return own.signal;
  }
}

/** What an aborted signal means: the caller's own error, a deadline, or a plain cancel. */
export function abortError(signal: AbortSignal): RvmError {
  const reason: unknown = signal.reason;
  if (reason instanceof RvmError) return reason;
  if (reason instanceof DOMException && reason.name === 'TimeoutError') return deadlineError();
  return new RvmError('CANCELLED', 'The request was cancelled before it was complete.');
}

function deadlineError(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'The time limit of this message was over before the service had answered; allow more time in the node, or look at the service.',
  );
}
