import { CLOCK_JUMP } from '../time';
import { AGREEMENT } from './proven-times';

/** No machine that runs this package lives before this day: an earlier clock was never set. */
const EARLIEST_PLAUSIBLE = Date.UTC(2025, 0, 1);
/** None is in use so long: a later clock is wrong, and one message that is wrong, too, must not confirm it. */
const LATEST_PLAUSIBLE = Date.UTC(2032, 0, 1);

/**
 * Says whether the wall clock may be used to call a message too old. It may once an authentic message was sent at about
 * the time the clock shows: two sources then agree. After a jump of the clock that has to happen anew.
 */
export class ClockGuard {
  #offset: number;
  #doubted = true;

  /** @param steady milliseconds of a clock that never jumps */
  constructor(
    private readonly wall: () => number,
    private readonly steady: () => number,
  ) {
    this.#offset = wall() - steady();
  }

  /** @param transmitTime of the authentic message at hand, as far as it is readable */
  mayJudgeAge(transmitTime: Date | undefined): boolean {
    const now = this.wall();
    const offset = now - this.steady();
    if (Math.abs(offset - this.#offset) > CLOCK_JUMP) this.#doubted = true;
    this.#offset = offset;
    if (transmitTime !== undefined && Math.abs(now - transmitTime.getTime()) < AGREEMENT)
      this.#doubted = false;
    return now >= EARLIEST_PLAUSIBLE && now < LATEST_PLAUSIBLE && !this.#doubted;
  }
}
