import type { Abort } from './abort';
import type { Leave, Line } from './places';

interface Waiting {
  readonly alone: boolean;
  readonly rank: number;
  readonly start: () => void;
}

/**
 * Lets many be at work together, or one alone. The others wait in line, in the order in which they came, those of a lower rank
 * before all of a higher one; who waits to be alone holds up all behind, so that there is an end to those who are together.
 */
export class Turns {
  readonly together: Line = this.#line(false);
  readonly alone: Line = this.#line(true);
  readonly #waiting: Waiting[] = [];
  #taken = 0;
  #isOneAlone = false;

  #line(alone: boolean): Line {
    return {
      takeFree: () => this.#takeFree(alone),
      take: (abort, rank) => this.#take(alone, abort, rank),
    };
  }

  #takeFree(alone: boolean): Leave | undefined {
    if (this.#waiting.length > 0 || !this.#isFree(alone)) return undefined;
    return this.#start(alone);
  }

  #take(alone: boolean, abort: Abort, rank: number): Promise<Leave> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        stopListening();
        resolve(this.#start(alone));
      };
      const mine = { alone, rank, start };
      const behind = this.#waiting.findIndex((other) => other.rank > rank);
      this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, mine);
      const stopListening = abort.onAbort((reason) => {
        const place = this.#waiting.indexOf(mine);
        // Started meanwhile, by another that left at the same abort.
        if (place < 0) return;
        this.#waiting.splice(place, 1);
        reject(reason);
        this.#next();
      });
      this.#next();
    });
  }

  #isFree(alone: boolean): boolean {
    return alone ? this.#taken === 0 : !this.#isOneAlone;
  }

  #start(alone: boolean): Leave {
    this.#taken += 1;
    this.#isOneAlone = alone;
    return () => {
      this.#taken -= 1;
      this.#isOneAlone = false;
      this.#next();
    };
  }

  #next(): void {
    for (;;) {
      const [first] = this.#waiting;
      if (first === undefined || !this.#isFree(first.alone)) return;
      this.#waiting.shift();
      first.start();
    }
  }
}
