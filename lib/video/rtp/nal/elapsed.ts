/**
 * Tells how long something lasts, by the clock of the stream or by ours, whichever says more: that of a camera may stand still, and a
 * recording may come faster than it was taken.
 */
export class Elapsed {
  readonly #now: () => number;
  #from: { time: number; at: number } | undefined;

  /** @param now milliseconds of a steady clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @param time seconds on the clock of the stream, as for the following */
  restart(time: number): void {
    this.#from = { time, at: this.#now() };
  }

  /** Seconds since it was started, or asked for the first time. */
  at(time: number): number {
    this.#from ??= { time, at: this.#now() };
    return Math.max(time - this.#from.time, (this.#now() - this.#from.at) / 1000);
  }
}
