/** The clock that never jumps, `performance.now`, of this process: it can be moved ahead. Timers go on as they do. */
export class MovableClock {
  readonly #real = performance.now;
  #ahead = 0;

  start(): void {
    performance.now = () => this.#real.call(performance) + this.#ahead;
  }

  advance(seconds: number): void {
    this.#ahead += seconds * 1000;
  }

  stop(): void {
    performance.now = this.#real;
    this.#ahead = 0;
  }
}
