/** Kinds counted separately; beyond this number all are forgotten, to bound the memory. */
const MAX_KEYS = 1000;

/** Lets a number of calls of a kind pass in each second. Needs no timer. */
export class RateLimiter {
  readonly #passed = new Map<string, number>();
  #second = 0;

  /** @param monotonic monotonic clock, in milliseconds */
  constructor(
    private readonly perSecond: number,
    private readonly monotonic: () => number,
  ) {}

  pass(key: string): boolean {
    const second = Math.floor(this.monotonic() / 1000);
    if (second !== this.#second || this.#passed.size >= MAX_KEYS) this.#passed.clear();
    this.#second = second;
    const passed = (this.#passed.get(key) ?? 0) + 1;
    this.#passed.set(key, passed);
    return passed <= this.perSecond;
  }
}

/** Lets one call of a kind pass in a period and counts the others; the next that passes reports the count. Needs no timer. */
export class LogThrottle {
  readonly #passed = new Map<string, { at: number; count: number }>();

  /**
   * @param period milliseconds
   * @param monotonic monotonic clock, in milliseconds
   */
  constructor(
    private readonly period: number,
    private readonly monotonic: () => number,
  ) {}

  /** @returns the number of calls this one represents, itself included; 0 = suppressed */
  pass(key: string): number {
    const last = this.#passed.get(key);
    const now = this.monotonic();
    if (last !== undefined && now - last.at < this.period) {
      last.count++;
      return 0;
    }
    this.#passed.delete(key);
    this.#passed.set(key, { at: now, count: 0 });
    const [oldest] = this.#passed.keys();
    if (this.#passed.size > MAX_KEYS && oldest !== undefined) this.#passed.delete(oldest);
    return 1 + (last?.count ?? 0);
  }
}
