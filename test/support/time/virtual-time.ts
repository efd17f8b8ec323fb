import path from 'node:path';
import { mock } from 'node:test';

/** The clock that never jumps, `performance.now`, of this process: it can be moved ahead. Timers go on as they do. */
export class MovableClock {
  #ahead = 0;
  #stop: () => void = () => undefined;

  start(): void {
    const real = performance.now.bind(performance);
    const moved = mock.method(performance, 'now', () => real() + this.#ahead);
    this.#stop = () => moved.mock.restore();
  }

  advance(seconds: number): void {
    this.#ahead += seconds * 1000;
  }

  stop(): void {
    this.#stop();
    this.#ahead = 0;
  }
}

interface Waiting {
  at: number;
  act: () => void;
}

/** Shorter ones go on as they do: they carry the work between the threads. Milliseconds. */
const LONG = 10_000;

/** The long timers of this process, which pass only as time is moved ahead; `node:timers` goes on as it does. */
export class MovableTimers {
  readonly #waiting = new Map<object, Waiting>();
  #now = 0;
  #stop: () => void = () => undefined;

  start(): void {
    const [begin, end] = [globalThis.setTimeout, globalThis.clearTimeout];
    const methods = [
      mock.method(globalThis, 'setTimeout', (act: () => void, ms = 0) => {
        const timer = begin(act, ms);
        if (ms < LONG) return timer;
        end(timer);
        this.#waiting.set(timer, { at: this.#now + ms, act });
        return timer;
      }),
      mock.method(globalThis, 'clearTimeout', (timer: NodeJS.Timeout | undefined) => {
        if (timer !== undefined) this.#waiting.delete(timer);
        end(timer);
      }),
    ];
    this.#stop = () => {
      for (const method of methods) method.mock.restore();
    };
  }

  advance(seconds: number): void {
    this.#now += seconds * 1000;
    for (const [timer, { at, act }] of this.#waiting) {
      if (at > this.#now) continue;
      this.#waiting.delete(timer);
      act();
    }
  }

  stop(): void {
    this.#stop();
    this.#waiting.clear();
  }
}

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

type Act = (...given: unknown[]) => void;
type Begin = (act: Act, ms?: number, ...given: unknown[]) => NodeJS.Timeout;

const LIB = path.join(__dirname, '..', '..', '..', 'lib') + path.sep;
const INBOX = path.join(LIB, 'inbox');
const REAL = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  clearTimeout: globalThis.clearTimeout,
  clearInterval: globalThis.clearInterval,
};

/**
 * Notes the timers that code below `lib/` starts and that are neither fired nor cleared, also those that do not keep the
 * process alive; but for those of inboxes, which other tests of this process have left as if it had been killed. It stands in the place of the global functions, so it does not see those of `node:timers`.
 */
export class TimerWatch {
  readonly #pending = new Map<NodeJS.Timeout, string>();

  start(): void {
    Object.assign(globalThis, {
      setTimeout: Object.assign(this.#begin(REAL.setTimeout, true), REAL.setTimeout),
      setInterval: this.#begin(REAL.setInterval, false),
      clearTimeout: (timer: NodeJS.Timeout | undefined) => this.#end(timer),
      clearInterval: (timer: NodeJS.Timeout | undefined) => this.#end(timer),
    });
  }

  /** Where those were started that are still to fire. */
  get pending(): string[] {
    return [...this.#pending.values()];
  }

  stop(): void {
    Object.assign(globalThis, REAL);
    this.#pending.clear();
  }

  #begin(real: typeof setTimeout | typeof setInterval, once: boolean): Begin {
    return (act, ms, ...given) => {
      const caller = new Error('a timer').stack?.split('\n')[2]?.trim() ?? '';
      const timer = real(() => {
        if (once) this.#pending.delete(timer);
        act(...given);
      }, ms);
      if (caller.includes(LIB) && !caller.includes(INBOX)) this.#pending.set(timer, caller);
      return timer;
    };
  }

  #end(timer: NodeJS.Timeout | undefined): void {
    if (timer !== undefined) this.#pending.delete(timer);
    REAL.clearTimeout(timer);
  }
}
