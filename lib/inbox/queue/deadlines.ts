import { clampTimerMs } from '../../concurrency/timers';

/**
 * Tells when the time of an item is up; while it is paused, not before it goes on. One timer for each item: Node.js keeps those
 * of one length in a list, so that one more or less costs the same however many there are.
 */
export class Deadlines<Item extends object> {
  readonly #timers = new Map<Item, NodeJS.Timeout>();
  /** Whose time was up during the pause. */
  readonly #due = new Set<Item>();
  #isRunning = false;

  constructor(private readonly isUp: (item: Item) => void) {}

  /** From now on, instead of what was set for it before. @param length in milliseconds */
  set(item: Item, length: number): void {
    this.clear(item);
    const part = clampTimerMs(Math.max(1, length));
    const timer = setTimeout(() => this.#passed(item, length - part), part);
    timer.unref();
    this.#timers.set(item, timer);
  }

  clear(item: Item): void {
    const timer = this.#timers.get(item);
    if (timer !== undefined) clearTimeout(timer);
    this.#timers.delete(item);
    this.#due.delete(item);
  }

  pause(): void {
    this.#isRunning = false;
  }

  resume(): void {
    this.#isRunning = true;
    const due = [...this.#due];
    this.#due.clear();
    for (const item of due) this.isUp(item);
  }

  #passed(item: Item, left: number): void {
    this.#timers.delete(item);
    if (left > 0) this.set(item, left);
    else if (this.#isRunning) this.isUp(item);
    else this.#due.add(item);
  }
}
