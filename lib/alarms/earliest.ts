import { timerMs } from '../concurrency/timers';

/** Milliseconds between two looks, at least: a timer for each of a thousand groups would cost more than they do. */
const GRAIN = 100;

/** One timer for the earliest of many times, which may turn out to be later once it has come. */
export class Earliest {
  #at = Infinity;
  #lookedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @param look does what is due, and returns when to look again: milliseconds of `performance.now()`, or Infinity */
  constructor(private readonly look: (now: number) => number) {}

  /** Looks then, or before. */
  at(time: number): void {
    if (time >= this.#at || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#at = Math.max(time, this.#lookedAt + GRAIN);
    const pause = Math.max(0, Math.ceil(this.#at - performance.now()));
    this.#timer = setTimeout(() => this.#look(), timerMs(pause));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    this.#at = Infinity;
    this.#lookedAt = now;
    this.at(this.look(now));
  }
}
