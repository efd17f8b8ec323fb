import { CLOCK_JUMP } from '../../time';
import type { Headers } from '../http/answer';

/** How far the clock of the service is from that of this machine, as its answers tell. */
export class ServiceClock {
  #ahead: number | undefined;
  /** Of the wall clock against the steady one, when that was told. */
  #offset = 0;

  /**
   * @param now wall clock, in milliseconds
   * @param steady milliseconds of a clock that never jumps
   */
  constructor(
    private readonly now: () => number = Date.now,
    private readonly steady: () => number = () => performance.now(),
  ) {}

  /**
   * Milliseconds that it is ahead, negative where it is behind; off by as long as an answer takes, and by a second. Undefined where no
   * answer has told since the clock of this machine was set.
   */
  get ahead(): number | undefined {
    const moved = this.now() - this.steady() - this.#offset;
    return Math.abs(moved) > CLOCK_JUMP ? undefined : this.#ahead;
  }

  /** An answer that a cache has kept tells of another time. */
  note({ date, age }: Headers): void {
    if (typeof date !== 'string' || age !== undefined) return;
    const told = Date.parse(date);
    if (!Number.isFinite(told)) return;
    this.#ahead = told - this.now();
    this.#offset = this.now() - this.steady();
  }
}
