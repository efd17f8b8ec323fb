/** No machine that runs this package lives before this day: an earlier clock was never set. */
const EARLIEST_PLAUSIBLE = Date.UTC(2025, 0, 1);
/** A wall clock that moves this much against the steady one was set, not corrected. Milliseconds. */
const JUMP = 5 * 60 * 1000;
/** How near a sender's clock must be to confirm ours. Milliseconds. */
const AGREEMENT = 60 * 60 * 1000;

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
    if (Math.abs(offset - this.#offset) > JUMP) this.#doubted = true;
    this.#offset = offset;
    if (transmitTime !== undefined && Math.abs(now - transmitTime.getTime()) < AGREEMENT)
      this.#doubted = false;
    return now >= EARLIEST_PLAUSIBLE && !this.#doubted;
  }
}
