import { mock } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { turn } from './virtual-time';

/** Milliseconds that pass at once, each time that one has passed. */
const STEP = 50;

interface Waiting {
  at: number;
  act: () => void;
  /** As before it was watched. */
  refresh: () => unknown;
}

/**
 * The time of this process passes many times as fast: that of `performance`, `Date.now` and `setTimeout`. It does so in steps between
 * which all that has come has its turn, so that a machine that is busy holds up the steps, too, and makes nothing late. For
 * tests whose services are in this process, or may take their time; `node:timers` goes on as it does.
 */
export class FastTime {
  readonly #waiting = new Map<object, Waiting>();
  #now = 0;
  /** Of this start: one that ends late must not go on in the time of the next. */
  #running: object | undefined;
  #restore: () => void = () => undefined;

  start(): void {
    const [begin, end] = [globalThis.setTimeout, globalThis.clearTimeout];
    const [since, date] = [performance.now(), Date.now()];
    const methods = [
      mock.method(performance, 'now', () => since + this.#now),
      mock.method(Date, 'now', () => date + this.#now),
      mock.method(
        globalThis,
        'setTimeout',
        (act: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
          this.#begin(begin, () => act(...given), ms),
      ),
      mock.method(globalThis, 'clearTimeout', (timer: NodeJS.Timeout | undefined) => {
        if (timer !== undefined) this.#waiting.delete(timer);
        end(timer);
      }),
    ];
    this.#restore = () => {
      for (const method of methods) method.mock.restore();
    };
    this.#now = 0;
    const running = {};
    this.#running = running;
    void this.#run(running);
  }

  /** At once, beside what passes by itself. */
  advance(seconds: number): void {
    this.#now += seconds * 1000;
  }

  /** Timers that are still to fire wait for as long as others do, from now on. */
  stop(): void {
    this.#running = undefined;
    this.#restore();
    for (const { refresh } of this.#waiting.values()) refresh();
    this.#waiting.clear();
  }

  /** A real one: it may be held on to, refreshed and cleared, also after the end. */
  #begin(begin: typeof setTimeout, act: () => void, ms: number): NodeJS.Timeout {
    let isOver = false;
    const timer = begin(() => {
      if (!isOver && !this.#waiting.has(timer)) act();
    }, ms);
    const refresh = timer.refresh.bind(timer);
    const fire = (): void => {
      isOver = true;
      timer.unref();
      act();
    };
    const wait = (): void =>
      void this.#waiting.set(timer, { at: this.#now + Math.max(1, ms), act: fire, refresh });
    timer.refresh = () => {
      isOver = false;
      if (this.#running !== undefined) wait();
      return refresh();
    };
    wait();
    return timer;
  }

  async #run(running: object): Promise<void> {
    for (;;) {
      await delay(1);
      await turn();
      if (this.#running !== running) return;
      this.#now += STEP;
      const due = [...this.#waiting].sort(([, one], [, other]) => one.at - other.at);
      for (const [timer, { at, act }] of due) if (at <= this.#now && this.#waiting.delete(timer)) act();
    }
  }
}
