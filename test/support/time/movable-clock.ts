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
