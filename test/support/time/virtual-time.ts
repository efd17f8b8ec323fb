import { mock } from 'node:test';

/** That of Node.js, while another stands in its place. */
export const realImmediate = setImmediate;

/** One turn of the real event loop: promises and files have gone on. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    realImmediate(resolve);
  });
}

interface Timer {
  at: number;
  act: () => void;
  ref: () => Timer;
  unref: () => Timer;
}

/** Time that stands still until it is told to go on. */
export class VirtualTime {
  now = 1000;
  #timers = new Set<Timer>();
  #immediates: (() => void)[] = [];

  install(): void {
    mock.method(performance, 'now', () => this.now);
    mock.method(globalThis, 'setTimeout', (act: () => void, pause = 1) => this.#add(act, pause));
    mock.method(
      globalThis,
      'clearTimeout',
      (timer: Timer | undefined) => timer && this.#timers.delete(timer),
    );
    mock.method(globalThis, 'setImmediate', (act: () => void) => this.#immediates.push(act));
  }

  /** Time goes on by itself again. */
  static restore(): void {
    mock.restoreAll();
  }

  /** One turn of the event loop. */
  turn(): void {
    const due = this.#immediates;
    this.#immediates = [];
    for (const act of due) act();
  }

  get hasTurns(): boolean {
    return this.#immediates.length > 0;
  }

  /** Goes to the next timer, if it is not later than `end`. */
  next(end: number): boolean {
    const timer = [...this.#timers].sort((one, other) => one.at - other.at)[0];
    if (timer === undefined || timer.at > end) {
      this.now = Math.max(this.now, Number.isFinite(end) ? end : this.now);
      return false;
    }
    this.now = Math.max(this.now, timer.at);
    this.#timers.delete(timer);
    timer.act();
    return true;
  }

  #add(act: () => void, pause: number): Timer {
    const timer: Timer = { at: this.now + Math.max(1, pause), act, ref: () => timer, unref: () => timer };
    this.#timers.add(timer);
    return timer;
  }
}
