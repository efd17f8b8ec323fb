/** Kinds counted apart; beyond it all are forgotten, so that memory stays bounded. */
const MAX_KEYS = 1000;

/** Lets so many of a kind pass in each second. Runs without a timer. */
export class RateLimiter {
  readonly #passed = new Map<string, number>();
  #second = 0;

  /** @param steady milliseconds of a clock that never jumps */
  constructor(
    private readonly perSecond: number,
    private readonly steady: () => number,
  ) {}

  pass(key: string): boolean {
    const second = Math.floor(this.steady() / 1000);
    if (second !== this.#second || this.#passed.size >= MAX_KEYS) this.#passed.clear();
    this.#second = second;
    const passed = (this.#passed.get(key) ?? 0) + 1;
    this.#passed.set(key, passed);
    return passed <= this.perSecond;
  }
}

/**
 * Lets one of a kind pass in a period and counts the rest, which the next one to pass reports. Runs without a timer.
 */
export class LogThrottle {
  readonly #passed = new Map<string, { at: number; held: number }>();

  /**
   * @param period milliseconds
   * @param steady milliseconds of a clock that never jumps
   */
  constructor(
    private readonly period: number,
    private readonly steady: () => number,
  ) {}

  /** How many this one stands for, itself included; 0 = held back. */
  pass(key: string): number {
    const last = this.#passed.get(key);
    const now = this.steady();
    if (last !== undefined && now - last.at < this.period) {
      last.held++;
      return 0;
    }
    this.#passed.delete(key);
    this.#passed.set(key, { at: now, held: 0 });
    this.#forgetOldest();
    return 1 + (last?.held ?? 0);
  }

  #forgetOldest(): void {
    if (this.#passed.size <= MAX_KEYS) return;
    for (const oldest of this.#passed.keys()) {
      this.#passed.delete(oldest);
      return;
    }
  }
}
