import { RvmError } from '../error';
import { Abort } from '../concurrency/abort';
import { asError } from '../concurrency/as-error';

export interface OperationOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds for the whole operation. */
  deadlineMs?: number | undefined;
  /** Nothing is tried more than once: it is asked again by other means. */
  once?: boolean;
}

/** What an operation has in common with those that work for it. */
interface Inherited {
  readonly tally: { requests: number };
  readonly abort: Abort;
}

/**
 * One thing the user asked for. It carries the caller's abort signal and deadline, and counts the HTTP requests it caused;
 * `end` must be called where there is a signal or a deadline. Work that several operations share counts for the one that
 * started it.
 */
export class Operation {
  readonly once: boolean;
  readonly #tally: { requests: number };
  readonly #abort: Abort;
  readonly #startedAt = performance.now();
  readonly #deadline: NodeJS.Timeout | undefined;
  #stopListening: () => void = () => undefined;

  constructor({ signal, deadlineMs, once = false }: OperationOptions = {}, inherited?: Inherited) {
    this.once = once;
    this.#tally = inherited?.tally ?? { requests: 0 };
    this.#abort = inherited?.abort ?? new Abort();
    if (signal !== undefined) {
      this.#stopListening = abortOf(signal).onAbort((reason) => this.#abort.abort(reason));
    }
    if (deadlineMs !== undefined) {
      this.#deadline = setTimeout(() => this.#abort.abort(deadlineError()), deadlineMs);
    }
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
    return new Operation({ once: this.once }, { tally: this.#tally, abort: new Abort() });
  }

  /** The same, for what is a hint alone: nothing is tried more than once. */
  tryingOnce(): Operation {
    return new Operation({ once: true }, { tally: this.#tally, abort: this.#abort });
  }

  /** Leaves neither timer nor listener behind. */
  end(): void {
    clearTimeout(this.#deadline);
    this.#stopListening();
  }

  /**
   * Calls back when the caller gives up: with CANCELLED, TIMEOUT or the caller's own error.
   * @returns a function that ends the listening
   */
  onAbort(listener: (reason: Error) => void): () => void {
    return this.#abort.onAbort(listener);
  }

  /** @throws RvmError CANCELLED or TIMEOUT if the caller has given up. */
  checkAlive(): void {
    if (this.#abort.reason !== undefined) throw this.#abort.reason;
  }

  /** Waits for shared work, but no longer than the caller does; the work itself goes on. */
  waitFor<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const stopListening = this.onAbort(reject);
      const settle = (done: () => void) => {
        stopListening();
        done();
      };
      work.then(
        (value) => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(asError(error))),
      );
    });
  }
}

const aborts = new WeakMap<AbortSignal, Abort>();

/**
 * The abort of a caller's signal. All calls that share a signal share one listener at it: those that have left its list point
 * to the next, so that all who have ever listened would be collected late.
 */
function abortOf(signal: AbortSignal): Abort {
  const known = aborts.get(signal);
  if (known !== undefined) return known;
  const abort = new Abort();
  const onAbort = (): void => abort.abort(abortError(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  aborts.set(signal, abort);
  return abort;
}

/** What an aborted signal means: the caller's own error, a deadline, or a plain cancel. */
function abortError(signal: AbortSignal): RvmError {
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
