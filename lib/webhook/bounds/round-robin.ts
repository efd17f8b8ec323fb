import { FairQueue } from './fair-queue';

/** Milliseconds of one turn of the event loop: the sockets are asked in between, so that who comes now has the next turn. */
const SLICE_MS = 5;

/**
 * Shares the time of the main thread between lines: a task runs at once while there is time left in this turn of the event loop,
 * else it waits for its line's turn in a later one. What can wait has the time that the others leave, and that of one task at least.
 */
export class RoundRobin {
  readonly #waiting = new FairQueue<() => void>();
  readonly #last = new FairQueue<() => void>();
  #spent = 0;
  #nextTurn: NodeJS.Immediate | undefined;

  /** @param task must not throw */
  run(line: string, task: () => void): void {
    this.#nextTurn ??= setImmediate(() => this.#begin());
    if (this.#waiting.size === 0 && this.#spent < SLICE_MS) this.#do(task);
    else this.#waiting.add(line, task);
  }

  /** Behind all others. @param task must not throw */
  runLast(line: string, task: () => void): void {
    this.#nextTurn ??= setImmediate(() => this.#begin());
    this.#last.add(line, task);
  }

  #begin(): void {
    this.#nextTurn = undefined;
    this.#spent = 0;
    if (this.#waiting.size + this.#last.size === 0) return;
    this.#nextTurn = setImmediate(() => this.#begin());
    while (this.#spent < SLICE_MS && this.#doNext(this.#waiting));
    do if (!this.#doNext(this.#last)) return;
    while (this.#spent < SLICE_MS);
  }

  #doNext(queue: FairQueue<() => void>): boolean {
    const task = queue.next();
    if (task !== undefined) this.#do(task);
    return task !== undefined;
  }

  #do(task: () => void): void {
    const began = performance.now();
    task();
    this.#spent += performance.now() - began;
  }
}
