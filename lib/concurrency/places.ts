import type { Abort } from './abort';

/** What gives a place back, to be called once. */
export type Leave = () => void;

/** Where one may have to wait before it goes to work. */
export interface Line {
  /** Goes to work at once where nobody needs to be waited for; else undefined. */
  takeFree: (rank: number) => Leave | undefined;
  /** Waits for the turn, or for the abort, whose reason it is rejected with. */
  take: (abort: Abort, rank: number) => Promise<Leave>;
}

/**
 * Bounds how many are at work at a time. The others wait in line, in the order in which they came; those of a lower rank go
 * before all of a higher one. Some places may be kept free for lower ranks, so that what may take long keeps nobody out for whom
 * it counts.
 */
export class Places implements Line {
  readonly #all: number;
  readonly #kept: readonly number[];
  /** By rank. Not sets: what has left one of those from its front is collected late. */
  readonly #lines: (() => void)[][] = [];
  #taken = 0;

  /** @param kept by rank: of all places, those that it leaves to the ranks before it; none unless said */
  constructor(all: number, kept: readonly number[] = []) {
    this.#all = all;
    this.#kept = kept;
  }

  /** How many wait in line. */
  get waiting(): number {
    return this.#lines.reduce((sum, line) => sum + line.length, 0);
  }

  /**
   * Takes a place that is free now: then nobody waits for it.
   * @returns undefined where none is free
   */
  takeFree(rank = 0): Leave | undefined {
    if (!this.#isFree(rank)) return undefined;
    this.#taken += 1;
    return () => this.#leave();
  }

  /** Waits for a place, or for the abort, whose reason it is rejected with. */
  take(abort: Abort, rank = 0): Promise<Leave> {
    const line = this.#lineOf(rank);
    return new Promise((resolve, reject) => {
      const start = (): void => {
        stopListening();
        resolve(() => this.#leave());
      };
      line.push(start);
      const stopListening = abort.onAbort((reason) => {
        const place = line.indexOf(start);
        // Started meanwhile, by another that left at the same abort.
        if (place < 0) return;
        line.splice(place, 1);
        reject(reason);
      });
      this.#next();
    });
  }

  #isFree(rank: number): boolean {
    return this.#all - this.#taken > (this.#kept[rank] ?? 0);
  }

  #lineOf(rank: number): (() => void)[] {
    while (this.#lines.length <= rank) this.#lines.push([]);
    return this.#lines[rank] ?? [];
  }

  #leave(): void {
    this.#taken -= 1;
    this.#next();
  }

  #next(): void {
    for (const [rank, line] of this.#lines.entries()) {
      const start = this.#isFree(rank) ? line.shift() : undefined;
      if (start === undefined) continue;
      this.#taken += 1;
      start();
      return;
    }
  }
}

/** Takes a place of each if all are free now, else none. */
export function takeAllFree(all: readonly Line[], rank: number): Leave | undefined {
  const taken: Leave[] = [];
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
export async function takeAll(all: readonly Line[], rank: number, abort: Abort): Promise<Leave> {
  const taken: Leave[] = [];
  try {
    for (const places of all) taken.push(await places.take(abort, rank));
    return () => leaveAll(taken);
  } catch (error) {
    leaveAll(taken);
    throw error;
  }
}

function leaveAll(taken: readonly Leave[]): void {
  for (const leave of taken) leave();
}
