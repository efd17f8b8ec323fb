import type { Abort } from './abort';

/** The order of those who wait: the session before all else, then what stands between an alarm and its video, then others. */
export const RANKS = { session: 0, urgent: 1, other: 2 } as const;
export type Rank = (typeof RANKS)[keyof typeof RANKS];
const IN_ORDER: readonly Rank[] = [RANKS.session, RANKS.urgent, RANKS.other];

/**
 * Bounds how many requests are under way. The others wait in line by their rank; some places are kept free for those before
 * the last, so that snapshots of cameras that do not answer keep no alarm from its video.
 */
export class Places {
  readonly #all: number;
  readonly #kept: number;
  /** Not sets: what has left one of those from its front is collected late. */
  readonly #lines: readonly [(() => void)[], (() => void)[], (() => void)[]] = [[], [], []];
  #taken = 0;

  /** @param kept of all places, those that the last rank may not take */
  constructor(all: number, kept: number) {
    this.#all = all;
    this.#kept = kept;
  }

  /**
   * Takes a place that is free now: then nobody waits for it.
   * @returns what gives the place back, to be called once; undefined where none is free
   */
  takeFree(rank: Rank): (() => void) | undefined {
    if (!this.#isFree(rank)) return undefined;
    this.#taken += 1;
    return () => this.#leave();
  }

  /**
   * Waits for a place, or for the abort, whose reason it is rejected with.
   * @returns what gives the place back, to be called once
   */
  take(rank: Rank, abort: Abort): Promise<() => void> {
    const line = this.#lines[rank];
    return new Promise((resolve, reject) => {
      const start = (): void => {
        stopListening();
        resolve(() => this.#leave());
      };
      line.push(start);
      const stopListening = abort.onAbort((reason) => {
        line.splice(line.indexOf(start), 1);
        reject(reason);
      });
      this.#next();
    });
  }

  #isFree(rank: Rank): boolean {
    return this.#all - this.#taken > (rank === RANKS.other ? this.#kept : 0);
  }

  #leave(): void {
    this.#taken -= 1;
    this.#next();
  }

  #next(): void {
    for (const rank of IN_ORDER) {
      const start = this.#isFree(rank) ? this.#lines[rank].shift() : undefined;
      if (start === undefined) continue;
      this.#taken += 1;
      start();
      return;
    }
  }
}

/** Takes a place of each if all are free now, else none. */
export function takeAllFree(all: readonly Places[], rank: Rank): (() => void) | undefined {
  const taken: (() => void)[] = [];
  for (const places of all) {
    const place = places.takeFree(rank);
    if (place === undefined) {
      leaveAll(taken);
      return undefined;
    }
    taken.push(place);
  }
  return () => leaveAll(taken);
}

/** Takes a place of each, one after the other; gives all back where one cannot be had. */
export async function takeAll(all: readonly Places[], rank: Rank, abort: Abort): Promise<() => void> {
  const taken: (() => void)[] = [];
  try {
    for (const places of all) taken.push(await places.take(rank, abort));
    return () => leaveAll(taken);
  } catch (error) {
    leaveAll(taken);
    throw error;
  }
}

function leaveAll(taken: readonly (() => void)[]): void {
  for (const leave of taken) leave();
}
