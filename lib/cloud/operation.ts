import { type RvmError, asError } from '../error';
import { Abort, abortOf, deadlineError } from '../concurrency/signals';
import type { Leave, Line, Places } from '../concurrency/semaphore';

export interface OperationOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds for the whole operation; without end unless said. */
  deadlineMs?: number | undefined;
  /** Nothing is tried more than once: it is asked again by other means. */
  once?: boolean | undefined;
  /** It asks whether the service is back, so it is sent while nothing else is. */
  isProbe?: boolean | undefined;
  /** Bounds how many operations wait for something that has failed; nothing does unless said. */
  room?: Places | undefined;
}

/** What an operation has in common with those that work for it. */
interface Inherited {
  readonly tally: { requests: number };
  readonly of?: Operation;
}

/** Of the time that is left, a hint may take this part. */
const HINT = 1 / 3;

/**
 * One thing the user asked for. It carries the caller's abort signal and deadline, and counts the HTTP requests it caused;
 * `end` must be called where there is a signal or a deadline. Work that several operations share counts for the one that
 * started it. What it waits for because that has failed is what it ends with at its deadline.
 */
export class Operation {
  readonly #once: boolean;
  readonly isProbe: boolean;
  readonly #tally: { requests: number };
  readonly #abort = new Abort();
  /** Whose hint it works for. */
  readonly #of: Operation | undefined;
  readonly #startedAt = performance.now();
  readonly #until: number;
  readonly #deadline: NodeJS.Timeout | undefined;
  readonly #room: Places | undefined;
  #leaveRoom: Leave | undefined;
  #failure: RvmError | undefined;
  #hasEnded = false;
  #stopListening: () => void = () => undefined;

  constructor(
    { signal, deadlineMs, once = false, isProbe = false, room }: OperationOptions = {},
    inherited: Inherited = { tally: { requests: 0 } },
  ) {
    this.#once = once;
    this.isProbe = isProbe;
    this.#room = room;
    this.#tally = inherited.tally;
    this.#of = inherited.of;
    this.#until = deadlineMs === undefined ? Infinity : this.#startedAt + deadlineMs;
    if (signal !== undefined) {
      this.#stopListening = abortOf(signal).onAbort((reason) => this.#abort.abort(reason));
    }
    if (deadlineMs !== undefined) {
      this.#deadline = setTimeout(() => this.#abort.abort(this.#failure ?? deadlineError()), deadlineMs);
    }
  }

  get requests(): number {
    return this.#tally.requests;
  }

  /** Milliseconds since the start. */
  get ms(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  /** Nothing is tried more than once. */
  get once(): boolean {
    return this.#once;
  }

  /** When its time is over, as of `performance.now()`. */
  get until(): number {
    return this.#until;
  }

  countRequest(): void {
    this.#tally.requests += 1;
  }

  /** The count of the requests, for work that is done for it. */
  get tally(): { requests: number } {
    return this.#tally;
  }

  /**
   * Does work that is a hint alone: it may take a part of the time that is left, so that it keeps nobody from the rest.
   * @param once nothing is tried more than once
   */
  async hint<T>(work: (hint: Operation) => Promise<T>, once = this.once): Promise<T> {
    const left = Math.max(0, this.until - performance.now());
    const deadlineMs = left === Infinity ? undefined : left * HINT;
    const hint = new Operation({ deadlineMs, once }, { tally: this.#tally, of: this });
    const stopListening = this.onAbort((reason) => hint.abandon(reason));
    try {
      return await work(hint);
    } finally {
      stopListening();
      hint.end();
    }
  }

  /**
   * Hears of a failure that may pass.
   * @param ms until what has failed is tried again
   * @returns false where there is no time to wait for that, or too many wait already
   */
  mayWait(error: RvmError, ms: number): boolean {
    if (this.#hasEnded) return true;
    if (this.once || performance.now() + ms > this.until) return false;
    if (this.#of !== undefined && !this.#of.mayWait(error, 0)) return false;
    if (this.#room !== undefined) {
      this.#leaveRoom ??= this.#room.takeFree();
      if (this.#leaveRoom === undefined) return false;
    }
    this.#failure = error;
    return true;
  }

  /** What it has waited for has gone well: its failures count no more. */
  goesOn(): void {
    this.#failure = undefined;
    this.#leaveRoom?.();
    this.#leaveRoom = undefined;
    this.#of?.goesOn();
  }

  /** Ends its waiting with this error. */
  abandon(error: Error): void {
    this.#abort.abort(error);
  }

  /** Leaves neither timer nor listener behind. */
  end(): void {
    clearTimeout(this.#deadline);
    this.#stopListening();
    this.goesOn();
    this.#hasEnded = true;
  }

  /**
   * Calls back when the caller gives up: with CANCELLED, TIMEOUT, the last failure or the caller's own error.
   * @returns a function that ends the listening
   */
  onAbort(listener: (reason: Error) => void): () => void {
    return this.#abort.onAbort(listener);
  }

  /** Whether the caller has given up, or its time is over. */
  get isOver(): boolean {
    return this.#abort.reason !== undefined;
  }

  /** @throws Error why, if the caller has given up: CANCELLED, TIMEOUT, or what it has waited for in vain. */
  checkAlive(): void {
    if (this.#abort.reason !== undefined) throw this.#abort.reason;
  }

  /** Waits for a turn, but no longer than the caller does. */
  takeTurn(line: Line): Promise<Leave> {
    return line.take(this.#abort, 0);
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
