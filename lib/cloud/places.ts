import { asError } from './as-error';

/**
 * Bounds how many requests are under way. The others wait in line, those that are urgent first; some places are kept free for
 * these, so that snapshots of cameras that do not answer keep no alarm from its video.
 */
export class Places {
  readonly #all: number;
  readonly #kept: number;
  readonly #urgent = new Set<() => void>();
  readonly #others = new Set<() => void>();
  #taken = 0;

  /** @param kept of all places, those that urgent requests alone may take */
  constructor(all: number, kept: number) {
    this.#all = all;
    this.#kept = kept;
  }

  /**
   * Waits for a place, or for the signal, whose reason it is rejected with.
   * @returns what gives the place back, to be called once
   */
  take(urgent: boolean, signal: AbortSignal): Promise<() => void> {
    const line = urgent ? this.#urgent : this.#others;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        line.delete(start);
        reject(asError(signal.reason));
      };
      const start = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve(() => this.#leave());
      };
      line.add(start);
      signal.addEventListener('abort', onAbort);
      this.#next();
    });
  }

  #leave(): void {
    this.#taken -= 1;
    this.#next();
  }

  #next(): void {
    const free = this.#all - this.#taken;
    const line = this.#urgent.size === 0 && free > this.#kept ? this.#others : this.#urgent;
    const [start] = line;
    if (free === 0 || start === undefined) return;
    line.delete(start);
    this.#taken += 1;
    start();
  }
}
