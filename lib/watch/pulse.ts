import { timerMs } from '../concurrency/timers';

/**
 * A sign that all is well, every so often. It is made on the event loop: where that is blocked, or the process is gone, there is
 * none.
 */
export class Pulse {
  #timer: NodeJS.Timeout | undefined;

  /** @param every milliseconds */
  constructor(
    private readonly every: number,
    private readonly send: () => void,
  ) {}

  /** All is well: the first one comes at once. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(this.send, timerMs(this.every));
    this.send();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
