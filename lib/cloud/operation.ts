import type { Release, Lock, Semaphore } from '../concurrency/semaphore';
import { CancelToken, cancelTokenOf, deadlineError } from '../concurrency/signals';
import { toError, type RvmError } from '../error';

export interface OperationOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds for the whole operation; without end unless said. */
  deadlineMs?: number | undefined;
  /** Nothing is tried more than once: it is asked again by other means. */
  once?: boolean | undefined;
  /** It asks whether the service is back, so it is sent while nothing else is. */
  isProbe?: boolean | undefined;
  /** Bounds how many operations wait for something that has failed; nothing does unless said. */
  room?: Semaphore | undefined;
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
  readonly #abort = new CancelToken();
  /** Whose hint it works for. */
  readonly #of: Operation | undefined;
  readonly #startedAt = performance.now();
  readonly #until: number;
  readonly #deadline: NodeJS.Timeout | undefined;
  readonly #room: Semaphore | undefined;
  #leaveRoom: Release | undefined;
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
      this.#stopListening = cancelTokenOf(signal).onAbort((reason) => this.#abort.abort(reason));
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
      this.#leaveRoom ??= this.#room.tryAcquire();
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
  takeTurn(line: Lock): Promise<Release> {
    return line.acquire(this.#abort, 0);
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
        (error: unknown) => settle(() => reject(toError(error))),
      );
    });
  }
}

/** Milliseconds that shared work has for what fails, also where those who wait for it have less time left. */
const OWN_PATIENCE = 10_000;

/**
 * Work that several operations wait for. None of them can cancel it for all, and none ends it with its own deadline: it tries as
 * long as the most patient of them, and, where nobody waits any more, each of its requests for ten seconds.
 */
export class SharedOperation extends Operation {
  readonly #joined = new Set<Operation>();
  #isPatient: boolean;
  #until: number;
  #lastSuccess = performance.now();
  #failure: { readonly error: RvmError; readonly againAt: number } | undefined;

  /** @param starter its requests are counted for this one */
  constructor(starter: Operation) {
    super({ isProbe: starter.isProbe }, { tally: starter.tally });
    this.#isPatient = !starter.once;
    this.#until = starter.until;
  }

  override get once(): boolean {
    return !this.#isPatient;
  }

  override get until(): number {
    return Math.max(this.#until, this.#lastSuccess + OWN_PATIENCE);
  }

  /** Waits for the work, but no longer than this operation does, and knows what it waits for. */
  async join<T>(operation: Operation, work: Promise<T>): Promise<T> {
    this.#joined.add(operation);
    this.#isPatient ||= !operation.once;
    this.#until = Math.max(this.#until, operation.until);
    if (this.#failure !== undefined) tell(operation, this.#failure);
    try {
      return await operation.waitFor(work);
    } finally {
      this.#joined.delete(operation);
    }
  }

  override mayWait(error: RvmError, ms: number): boolean {
    // Where it ends with this, those who wait hear of it by that: whoever comes then shall find no work that is about to fail.
    if (!super.mayWait(error, ms)) return false;
    this.#failure = { error, againAt: performance.now() + ms };
    for (const operation of this.#joined) tell(operation, this.#failure);
    return true;
  }

  override goesOn(): void {
    this.#failure = undefined;
    this.#lastSuccess = performance.now();
    for (const operation of this.#joined) operation.goesOn();
  }
}

/** Who has no time for that fails at once; the others wait. */
function tell(operation: Operation, { error, againAt }: { error: RvmError; againAt: number }): void {
  const ms = Math.max(0, againAt - performance.now());
  if (!operation.mayWait(error, ms)) operation.abandon(error);
}

interface Flight<T> {
  readonly shared: SharedOperation;
  readonly work: Promise<T>;
}

/** Runs a piece of work once, however many operations ask for it while it is under way. */
export class SingleFlight<T> {
  readonly #flight = new KeyedFlight<T>();

  /** Joins the work under way or starts it; a caller who gives up leaves the others undisturbed. */
  run(operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    return this.#flight.run('', operation, work);
  }

  /** The work under way, if any. */
  get running(): Promise<T> | undefined {
    return this.#flight.running('');
  }
}

/** The same for work that differs by a key, such as the id of a camera. */
export class KeyedFlight<T> {
  readonly #running = new Map<string, Flight<T>>();

  /** As `SingleFlight.run`, for the work of this key. */
  run(key: string, operation: Operation, work: (operation: Operation) => Promise<T>): Promise<T> {
    const { shared, work: running } = this.#running.get(key) ?? this.#start(key, operation, work);
    return shared.join(operation, running);
  }

  running(key: string): Promise<T> | undefined {
    return this.#running.get(key)?.work;
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

/** One attempt to have a request answered, and how far it came. Redirects are part of it. */
export class Attempt {
  /** Counted from 1. */
  readonly number: number;
  /** Whether a connection has taken it: before that the service cannot have carried it out. */
  isSent = false;
  /** Whether the head of an answer has come. */
  isAnswered = false;
  /** The cookies of the session when it went out, as one text. */
  cookies = '';
  /** Whether its answer has changed the cookies of the session. */
  hasChangedCookies = false;

  constructor(number = 1) {
    this.number = number;
  }

  /** It is about to go out, perhaps once more. */
  begin(cookies: string): void {
    this.isSent = false;
    this.isAnswered = false;
    this.cookies = cookies;
  }
}
