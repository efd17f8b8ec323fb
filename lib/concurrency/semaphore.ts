import { FairQueue } from './fair-queue';
import type { CancelToken } from './signals';

/** Gives a permit back; to be called once. */
export type Release = () => void;

/** Anything that can be acquired. */
export interface Lock {
  /** Acquires at once if possible; else undefined. */
  tryAcquire: (rank: number) => Release | undefined;
  /** Waits until acquired; rejects with the reason of the token. */
  acquire: (abort: CancelToken, rank: number) => Promise<Release>;
}

/**
 * Bounded permits with priorities, FIFO within a priority; a lower rank goes first. Permits may be reserved for lower ranks, so
 * that long work does not block more important work.
 */
export class Semaphore implements Lock {
  readonly #all: number;
  readonly #reserved: readonly number[];
  /** Waiters by rank. Arrays, not sets: V8 frees entries deleted from the front of a set late. */
  readonly #queues: (() => void)[][] = [];
  #taken = 0;

  /** @param reserved by rank: how many of all permits are reserved for the ranks before it; default: none */
  constructor(all: number, reserved: readonly number[] = []) {
    this.#all = all;
    this.#reserved = reserved;
  }

  /** How many callers wait. */
  get waiting(): number {
    return this.#queues.reduce((sum, queue) => sum + queue.length, 0);
  }

  /**
   * Acquires a permit that is free now, so that no caller waits for it.
   * @returns undefined where none is free
   */
  tryAcquire(rank = 0): Release | undefined {
    if (!this.#isFree(rank)) return undefined;
    this.#taken += 1;
    return () => this.#leave();
  }

  /** Waits for a permit; rejects with the reason of the token. */
  acquire(abort: CancelToken, rank = 0): Promise<Release> {
    const queue = this.#queueOf(rank);
    return new Promise((resolve, reject) => {
      const start = (): void => {
        stopListening();
        resolve(() => this.#leave());
      };
      queue.push(start);
      const stopListening = abort.onAbort((reason) => {
        const index = queue.indexOf(start);
        // Already started, because a permit was released in the same cancellation.
        if (index < 0) return;
        queue.splice(index, 1);
        reject(reason);
      });
      this.#next();
    });
  }

  #isFree(rank: number): boolean {
    return this.#all - this.#taken > (this.#reserved[rank] ?? 0);
  }

  #queueOf(rank: number): (() => void)[] {
    while (this.#queues.length <= rank) this.#queues.push([]);
    return this.#queues[rank] ?? [];
  }

  #leave(): void {
    this.#taken -= 1;
    this.#next();
  }

  #next(): void {
    for (const [rank, queue] of this.#queues.entries()) {
      const start = this.#isFree(rank) ? queue.shift() : undefined;
      if (start === undefined) continue;
      this.#taken += 1;
      start();
      return;
    }
  }
}

/** Acquires each lock if all are free now, else none. */
export function tryAcquireAll(all: readonly Lock[], rank: number): Release | undefined {
  const taken: Release[] = [];
  for (const lock of all) {
    const index = lock.tryAcquire(rank);
    if (index === undefined) {
      leaveAll(taken);
      return undefined;
    }
    taken.push(index);
  }
  return () => leaveAll(taken);
}

/** Acquires each lock in order; releases all where one cannot be acquired. */
export async function acquireAll(all: readonly Lock[], rank: number, abort: CancelToken): Promise<Release> {
  const taken: Release[] = [];
  try {
    for (const lock of all) taken.push(await lock.acquire(abort, rank));
    return () => leaveAll(taken);
  } catch (error) {
    leaveAll(taken);
    throw error;
  }
}

function leaveAll(taken: readonly Release[]): void {
  for (const leave of taken) leave();
}

interface Waiting {
  readonly alone: boolean;
  readonly rank: number;
  readonly start: () => void;
}

/** Read-write lock with priorities, FIFO within a priority. A waiting writer blocks later readers, so writers do not starve. */
export class ReadWriteLock {
  readonly shared: Lock = this.#lock(false);
  readonly exclusive: Lock = this.#lock(true);
  readonly #waiting: Waiting[] = [];
  #taken = 0;
  #isOneAlone = false;

  #lock(alone: boolean): Lock {
    return {
      tryAcquire: () => this.#acquireFree(alone),
      acquire: (abort, rank) => this.#take(alone, abort, rank),
    };
  }

  #acquireFree(alone: boolean): Release | undefined {
    if (this.#waiting.length > 0 || !this.#isFree(alone)) return undefined;
    return this.#start(alone);
  }

  #take(alone: boolean, abort: CancelToken, rank: number): Promise<Release> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        stopListening();
        resolve(this.#start(alone));
      };
      const mine = { alone, rank, start };
      const behind = this.#waiting.findIndex((other) => other.rank > rank);
      this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, mine);
      const stopListening = abort.onAbort((reason) => {
        const index = this.#waiting.indexOf(mine);
        // Already started, because the lock was released in the same cancellation.
        if (index < 0) return;
        this.#waiting.splice(index, 1);
        reject(reason);
        this.#next();
      });
      this.#next();
    });
  }

  #isFree(alone: boolean): boolean {
    return alone ? this.#taken === 0 : !this.#isOneAlone;
  }

  #start(alone: boolean): Release {
    this.#taken += 1;
    this.#isOneAlone = alone;
    return () => {
      this.#taken -= 1;
      this.#isOneAlone = false;
      this.#next();
    };
  }

  #next(): void {
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined || !this.#isFree(first.alone)) return;
      this.#waiting.shift();
      first.start();
    }
  }
}

/** Waiters at most, as a multiple of the capacity. */
const WAITING_FOR_EACH = 4;

/** A request for a permit. */
interface Applicant {
  /** Memory of the body, in bytes. */
  bytes: number;
  /** The queue in which the applicant waits. */
  queue: string;
  /** The token that ends the wait; requested only where the applicant has to wait. */
  ending: () => CancelToken;
}

/** What is under way for one key. */
interface Usage {
  readonly waiting: FairQueue<(isIn: boolean) => void>;
  atWork: number;
  underWay: number;
  bytes: number;
}

/**
 * Bounds the work under way for each key, such as a path: at most `capacity` complete requests are judged and stored at a time,
 * four times as many wait, served round-robin over their queues, and the bodies of both together take at most `maxBytes`. Where
 * more would wait, the last of the longest queue is turned away. Each key has its own bounds, so that a path which cannot judge,
 * and holds its requests, does not block another path. Nothing is remembered of a key without a request under way, because
 * paths come and go with their nodes.
 */
export class KeyedSemaphore {
  readonly #usages = new Map<string, Usage>();

  constructor(
    private readonly capacity: number,
    private readonly maxBytes: number,
  ) {}

  /**
   * Acquires a permit: without a promise where it is free, so that the caller goes on in the same turn of the event loop.
   * @returns undefined where the applicant was turned away, or its wait ended
   */
  acquire(key: string, applicant: Applicant): Release | undefined | Promise<Release | undefined> {
    const { bytes } = applicant;
    const usage = this.#usages.get(key) ?? { waiting: new FairQueue(), atWork: 0, underWay: 0, bytes: 0 };
    if (usage.bytes + bytes > this.maxBytes) return undefined;
    this.#usages.set(key, usage);
    usage.underWay += 1;
    usage.bytes += bytes;
    const forget = (): void => {
      usage.underWay -= 1;
      usage.bytes -= bytes;
      if (usage.underWay === 0) this.#usages.delete(key);
    };
    const release = (): void => {
      const enter = usage.waiting.next();
      if (enter === undefined) usage.atWork -= 1;
      else enter(true);
      forget();
    };
    if (usage.atWork < this.capacity) {
      usage.atWork += 1;
      return release;
    }
    return this.#wait(usage.waiting, applicant).then((isIn) => {
      if (isIn) return release;
      forget();
      return undefined;
    });
  }

  /** Resolves with true once a permit has passed to the applicant. */
  #wait(waiting: Usage['waiting'], { queue, ending }: Applicant): Promise<boolean> {
    return new Promise((resolve) => {
      const enter = (isIn: boolean): void => {
        stopListening();
        resolve(isIn);
      };
      waiting.add(queue, enter);
      const stopListening = ending().onAbort(() => {
        waiting.remove(queue, enter);
        resolve(false);
      });
      if (waiting.size > this.capacity * WAITING_FOR_EACH) waiting.lastOfLongest()?.(false);
    });
  }
}
