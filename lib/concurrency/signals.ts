import { toError, RvmError } from '../error';

type Listener = (reason: Error) => void;
interface Listening {
  index: number;
  readonly call: Listener;
}

/**
 * Cancels work with an error as the reason. Like AbortController and its signal, but without the cost of events: one call of a
 * station's client needs several tokens.
 */
export class CancelToken {
  #reason: Error | undefined;
  /** Not a set: V8 links the former tables of a set, so that former listeners of a long-lived token would be collected late. */
  readonly #listeners: Listening[] = [];

  /** The reason of the cancellation; undefined before it. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Only the first reason counts. */
  abort(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    for (const { call } of this.#listeners.splice(0)) call(reason);
  }

  /**
   * Calls back when cancelled; at once where that has happened already.
   * @returns a function that removes the listener
   */
  onAbort(call: Listener): () => void {
    if (this.#reason !== undefined) {
      call(this.#reason);
      return () => undefined;
    }
    const listener = { index: this.#listeners.length, call };
    this.#listeners.push(listener);
    return () => this.#remove(listener);
  }

  /** The last listener moves to the free position. */
  #remove(listener: Listening): void {
    if (this.#listeners[listener.index] !== listener) return;
    const last = this.#listeners.pop();
    if (last === undefined || last === listener) return;
    last.index = listener.index;
    this.#listeners[last.index] = last;
  }
}

const aborts = new WeakMap<AbortSignal, CancelToken>();

/**
 * The token of a caller's signal. All calls that share a signal share one listener at it: removed listeners of a signal stay
 * linked to the next, so that all former listeners would be collected late.
 */
export function cancelTokenOf(signal: AbortSignal): CancelToken {
  const known = aborts.get(signal);
  if (known !== undefined) return known;
  const abort = new CancelToken();
  const onAbort = (): void => abort.abort(abortError(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  aborts.set(signal, abort);
  return abort;
}

/** The error for an aborted signal: the caller's own error, a deadline, or a plain cancellation. */
function abortError(signal: AbortSignal): RvmError {
  const reason: unknown = signal.reason;
  if (reason instanceof RvmError) return reason;
  if (reason instanceof DOMException && reason.name === 'TimeoutError') return deadlineError();
  return new RvmError('CANCELLED', 'The request was cancelled before it was complete.');
}

/** The caller's deadline passed before anything had failed. */
export function deadlineError(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'The time limit of this message was over before the service had answered; allow more time in the node, or look at the service.',
  );
}

/** Callbacks for changes, called in the order in which they were added. */
export class ChangeListeners {
  readonly #watchers = new Set<() => void>();

  get isEmpty(): boolean {
    return this.#watchers.size === 0;
  }

  /** @returns a function that removes the callback */
  add(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  clear(): void {
    this.#watchers.clear();
  }

  /** A callback that fails does not prevent the others. @throws the first failure, after all callbacks */
  notify(): void {
    const failures: unknown[] = [];
    for (const changed of this.#watchers) {
      try {
        changed();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw toError(failures[0]);
  }
}
