import type { Headers } from '../http/answer';

/** How far the clock of the service is from that of this machine, as its answers tell. */
export class ServiceClock {
  #ahead: number | undefined;

  /** @param now wall clock, in milliseconds */
  constructor(private readonly now: () => number = Date.now) {}

  /**
   * Milliseconds that it is ahead, negative where it is behind; off by as long as an answer takes, and by a second. Undefined where no
   * answer has told.
   */
  get ahead(): number | undefined {
    return this.#ahead;
  }

  /** An answer that a cache has kept tells of another time. */
  note({ date, age }: Headers): void {
    if (typeof date !== 'string' || age !== undefined) return;
    const told = Date.parse(date);
    if (Number.isFinite(told)) this.#ahead = told - this.now();
  }
}
