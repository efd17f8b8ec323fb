import { asError } from './as-error';

/** The order of those who wait: the session before all else, then what stands between an alarm and its video, then others. */
export const RANKS = { session: 0, urgent: 1, other: 2 } as const;
export type Rank = (typeof RANKS)[keyof typeof RANKS];

/**
 * Bounds how many requests are under way. The others wait in line by their rank; some places are kept free for those before
 * the last, so that snapshots of cameras that do not answer keep no alarm from its video.
 */
export class Places {
  readonly #all: number;
  readonly #kept: number;
  readonly #lines: readonly [Set<() => void>, Set<() => void>, Set<() => void>] = [
    new Set(),
    new Set(),
    new Set(),
  ];
  #taken = 0;

  /** @param kept of all places, those that the last rank may not take */
  constructor(all: number, kept: number) {
    this.#all = all;
    this.#kept = kept;
  }

  /**
   * Waits for a place, or for the signal, whose reason it is rejected with.
   * @returns what gives the place back, to be called once
   */
  take(rank: Rank, signal: AbortSignal): Promise<() => void> {
    const line = this.#lines[rank];
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(asError(signal.reason));
        return;
      }
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
    if (free === 0) return;
    const [session, urgent, other] = this.#lines;
    const line = [session, urgent, ...(free > this.#kept ? [other] : [])].find(({ size }) => size > 0);
    const [start] = line ?? [];
    if (line === undefined || start === undefined) return;
    line.delete(start);
    this.#taken += 1;
    start();
  }
}

/** Takes a place of each, one after the other; gives all back where one cannot be had. */
export async function takeAll(all: readonly Places[], rank: Rank, signal: AbortSignal): Promise<() => void> {
  const taken: (() => void)[] = [];
  const leave = (): void => {
    for (const place of taken) place();
  };
  try {
    for (const places of all) taken.push(await places.take(rank, signal));
    return leave;
  } catch (error) {
    leave();
    throw error;
  }
}
