import { toError, RvmError } from '../error';

type Listener = (reason: Error) => void;
interface Listening {
  place: number;
  readonly call: Listener;
}

/**
 * Ends work under way, with the error that says why: AbortController and its signal, without what events cost. One call of a
 * station's client has several.
 */
export class CancelToken {
  #reason: Error | undefined;
  /**
   * Not a set: that leaves its former tables behind, each pointing to the next, and so all who have ever listened to one that
   * lives long would be collected late.
   */
  readonly #listeners: Listening[] = [];

  /** Why it was ended; undefined while it was not. */
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
   * Calls back when it comes to that; at once where it already has.
   * @returns a function that ends the listening
   */
  onAbort(call: Listener): () => void {
    if (this.#reason !== undefined) {
      call(this.#reason);
      return () => undefined;
    }
    const listener = { place: this.#listeners.length, call };
    this.#listeners.push(listener);
    return () => this.#remove(listener);
  }

  /** The last one takes the place. */
  #remove(listener: Listening): void {
    if (this.#listeners[listener.place] !== listener) return;
    const last = this.#listeners.pop();
    if (last === undefined || last === listener) return;
    last.place = listener.place;
    this.#listeners[last.place] = last;
  }
}

const aborts = new WeakMap<AbortSignal, CancelToken>();

/**
 * The abort of a caller's signal. All calls that share a signal share one listener at it: those that have left its list point
 * to the next, so that all who have ever listened would be collected late.
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

/** What an aborted signal means: the caller's own error, a deadline, or a plain cancel. */
function abortError(signal: AbortSignal): RvmError {
  const reason: unknown = signal.reason;
  if (reason instanceof RvmError) return reason;
  if (reason instanceof DOMException && reason.name === 'TimeoutError') return deadlineError();
  return new RvmError('CANCELLED', 'The request was cancelled before it was complete.');
}

/** The time of a caller is over, before anything had failed. */
export function deadlineError(): RvmError {
  return new RvmError(
    'TIMEOUT',
    'The time limit of this message was over before the service had answered; allow more time in the node, or look at the service.',
  );
}

/** Those who are told of each change of something, in the order in which they asked. */
export class ChangeListeners {
  readonly #watchers = new Set<() => void>();

  get isEmpty(): boolean {
    return this.#watchers.size === 0;
  }

  /** Calls back at each change; returns the way to end that. */
  add(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  /** Nobody is told any more. */
  clear(): void {
    this.#watchers.clear();
  }

  /** One that fails keeps no other from being told. @throws what the first of them threw, once all have been told */
  tell(): void {
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
