import { lateTimeout } from '../../concurrency/timers';

/** Calls back once where nothing was heard for a time. One timer, however much is heard. */
export class SilenceWatch {
  readonly #ms: number;
  readonly #silent: () => void;
  #heardAt = performance.now();
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /** @param ms milliseconds */
  constructor(ms: number, silent: () => void) {
    this.#ms = ms;
    this.#silent = silent;
    this.#wait(ms);
  }

  heard(): void {
    this.#heardAt = performance.now();
  }

  /** Nobody listens for now, so silence means nothing. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.heard();
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    this.#timer = lateTimeout(() => this.#look(), ms);
  }

  #look(): void {
    if (this.#hasEnded) return;
    const left = this.#isPaused ? this.#ms : this.#heardAt + this.#ms - performance.now();
    if (left > 0) return this.#wait(left);
    this.#hasEnded = true;
    this.#silent();
  }
}
