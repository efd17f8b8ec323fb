import { mock } from 'node:test';

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
