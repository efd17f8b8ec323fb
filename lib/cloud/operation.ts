import type { Release, Lock, Semaphore } from '../concurrency/semaphore';
import { CancelToken, cancelTokenOf, deadlineError } from '../concurrency/signals';
import { cancellable } from '../concurrency/timers';
import type { RvmError } from '../error';

export interface OperationOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds for the whole operation; default: no limit. */
  deadlineMs?: number | undefined;
  /** No retries: the caller asks again by other means. */
  once?: boolean | undefined;
  /** The operation probes whether the service is back, so its requests are sent while no others are. */
  isProbe?: boolean | undefined;
  /** Limits how many operations wait for something that has failed; without it there is no limit. */
  capacity?: Semaphore | undefined;
}

/** What an operation shares with the partial operations that work for it. */
interface Inherited {
  readonly tally: { requests: number };
  readonly of?: Operation;
}

/** Part of the remaining time that a hint may use. */
const HINT = 1 / 3;

/**
 * One call of the user. It carries the caller's abort signal and deadline, and counts the HTTP requests that it caused; `end`
 * must be called if there is a signal or a deadline. Work that several operations share counts for the one that started it. If
 * the deadline passes while the operation waits for something that has failed, it ends with that failure.
 */
export class Operation {
  /** Nothing is tried more than once. */
  once: boolean;
  /** The deadline, as of `performance.now()`. */
  until: number;
  readonly isProbe: boolean;
  /** The request counter, shared with work that is done for this operation. */
  readonly tally: { requests: number };
  readonly #abort = new CancelToken();
  /** The operation whose hint this one works on. */
  readonly #of: Operation | undefined;
  readonly #startedAt = performance.now();
  readonly #deadline: NodeJS.Timeout | undefined;
  readonly #capacity: Semaphore | undefined;
  #releaseCapacity: Release | undefined;
  #failure: RvmError | undefined;
  #hasEnded = false;
  #stopListening: () => void = () => undefined;

  constructor(
    { signal, deadlineMs, once = false, isProbe = false, capacity }: OperationOptions = {},
    inherited: Inherited = { tally: { requests: 0 } },
  ) {
    this.once = once;
    this.isProbe = isProbe;
    this.#capacity = capacity;
    this.tally = inherited.tally;
    this.#of = inherited.of;
    this.until = deadlineMs === undefined ? Infinity : this.#startedAt + deadlineMs;
    if (signal !== undefined) {
      this.#stopListening = cancelTokenOf(signal).onAbort((reason) => this.#abort.abort(reason));
    }
    if (deadlineMs !== undefined) {
      this.#deadline = setTimeout(() => this.#abort.abort(this.#failure ?? deadlineError()), deadlineMs);
    }
  }

  get requests(): number {
    return this.tally.requests;
  }

  /** Milliseconds since the start. */
  get ms(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  countRequest(): void {
    this.tally.requests += 1;
  }

  /**
   * Does work that only supplies a hint: it gets a third of the remaining time, so that enough is left for the rest.
   * @param once no retries
   */
  async hint<T>(work: (hint: Operation) => Promise<T>, once = this.once): Promise<T> {
    const left = Math.max(0, this.until - performance.now());
    const deadlineMs = left === Infinity ? undefined : left * HINT;
    const hint = new Operation({ deadlineMs, once }, { tally: this.tally, of: this });
    const stopListening = this.onAbort((reason) => hint.abandon(reason));
    try {
      return await work(hint);
    } finally {
      stopListening();
      hint.end();
    }
  }

  /**
   * Reports a transient failure to the operation.
   * @param ms milliseconds until the failed work is retried
   * @returns false if the time does not suffice for that, or too many operations wait already
   */
  mayWait(error: RvmError, ms: number): boolean {
    if (this.#hasEnded) return true;
    if (this.once || performance.now() + ms > this.until) return false;
    if (this.#of !== undefined && !this.#of.mayWait(error, 0)) return false;
    if (this.#capacity !== undefined) {
      this.#releaseCapacity ??= this.#capacity.tryAcquire();
      if (this.#releaseCapacity === undefined) return false;
    }
    this.#failure = error;
    return true;
  }

  /** The work it waited for has succeeded: clears the failure. */
  goesOn(): void {
    this.#failure = undefined;
    this.#releaseCapacity?.();
    this.#releaseCapacity = undefined;
    this.#of?.goesOn();
  }

  /** Ends its waiting with this error. */
  abandon(error: Error): void {
    this.#abort.abort(error);
  }

  /** Removes timer and listeners. */
  end(): void {
    clearTimeout(this.#deadline);
    this.#stopListening();
    this.goesOn();
    this.#hasEnded = true;
  }

  /**
   * Calls the listener when the caller gives up: with CANCELLED, TIMEOUT, the last failure or the caller's own error.
   * @returns a function that removes the listener
   */
  onAbort(listener: (reason: Error) => void): () => void {
    return this.#abort.onAbort(listener);
  }

  /** Whether the caller has given up, or its time is over. */
  get isOver(): boolean {
    return this.#abort.reason !== undefined;
  }

  /** @throws Error the reason, if the caller has given up: CANCELLED, TIMEOUT, or the failure it waited for */
  checkAlive(): void {
    if (this.#abort.reason !== undefined) throw this.#abort.reason;
  }

  /** Waits for the lock, but no longer than the caller does. */
  takeTurn(lock: Lock): Promise<Release> {
    return lock.acquire(this.#abort, 0);
  }

  /** Waits for shared work, but no longer than the caller does; the work itself continues. */
  waitFor<T>(work: Promise<T>): Promise<T> {
    return cancellable(this.#abort, work);
  }
}

/** Milliseconds that shared work has for retries, even if the callers have less time left. */
const SHARED_TIMEOUT_MS = 10_000;

/**
 * Work that several operations wait for. None of them can cancel it for all, and the deadline of one does not end it: it
 * retries until the latest deadline of its callers, and each of its requests for at least ten seconds.
 */
export class SharedOperation extends Operation {
  readonly #joined = new Set<Operation>();
  #failure: { readonly error: RvmError; readonly againAt: number } | undefined;

  /** @param starter the operation that the requests are counted for */
  constructor(starter: Operation) {
    super({ isProbe: starter.isProbe, once: starter.once }, { tally: starter.tally });
    this.until = Math.max(starter.until, performance.now() + SHARED_TIMEOUT_MS);
  }

  /** Waits for the work, but no longer than this operation does; reports failures of the work to the operation. */
  async join<T>(operation: Operation, work: Promise<T>): Promise<T> {
    this.#joined.add(operation);
    this.once &&= operation.once;
    this.until = Math.max(this.until, operation.until);
    if (this.#failure !== undefined) notify(operation, this.#failure);
    try {
      return await operation.waitFor(work);
    } finally {
      this.#joined.delete(operation);
    }
  }

  override mayWait(error: RvmError, ms: number): boolean {
    // If the work ends with this error, its callers get the error from that; a caller that joins now must not
    // find work that is about to fail.
    if (!super.mayWait(error, ms)) return false;
    this.#failure = { error, againAt: performance.now() + ms };
    for (const operation of this.#joined) notify(operation, this.#failure);
    return true;
  }

  override goesOn(): void {
    this.#failure = undefined;
    this.until = Math.max(this.until, performance.now() + SHARED_TIMEOUT_MS);
    for (const operation of this.#joined) operation.goesOn();
  }
}

/** An operation that has no time for the retry fails at once; the others wait. */
function notify(operation: Operation, { error, againAt }: { error: RvmError; againAt: number }): void {
  const ms = Math.max(0, againAt - performance.now());
  if (!operation.mayWait(error, ms)) operation.abandon(error);
}

interface Flight<T> {
  readonly shared: SharedOperation;
  readonly work: Promise<T>;
}

/** Runs a piece of work once, however many operations request it while it runs. */
export class SingleFlight<T> {
  readonly #running = new Map<string, Flight<T>>();

  /**
   * Joins the running work, or starts it; a caller that gives up does not affect the others.
   * @param key for work that differs, such as the id of a camera
   */
  run(operation: Operation, work: (operation: Operation) => Promise<T>, key = ''): Promise<T> {
    const { shared, work: running } = this.#running.get(key) ?? this.#start(key, operation, work);
    return shared.join(operation, running);
  }

  /** Whether work without a key runs. */
  get isRunning(): boolean {
    return this.#running.has('');
  }

  #start(key: string, operation: Operation, work: (operation: Operation) => Promise<T>): Flight<T> {
    const shared = new SharedOperation(operation);
    const flight = { shared, work: work(shared) };
    const clear = () => this.#running.delete(key);
    this.#running.set(key, flight);
    void flight.work.then(clear, clear);
    return flight;
  }
}

/** One attempt at a request, redirects included, and how far it got. */
export class Attempt {
  /** Counted from 1. */
  readonly number: number;
  /** Whether a connection has taken the request: before that, the service cannot have carried it out. */
  isSent = false;
  /** Whether the head of an answer has arrived. */
  isAnswered = false;
  /** The cookies of the session when the request was sent, as one text. */
  cookies = '';
  /** Whether its answer has changed the cookies of the session. */
  hasChangedCookies = false;

  constructor(number = 1) {
    this.number = number;
  }

  /** The request is about to be sent, perhaps once more. */
  begin(cookies: string): void {
    this.isSent = false;
    this.isAnswered = false;
    this.cookies = cookies;
  }
}
