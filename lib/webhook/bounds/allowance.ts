/** Kinds counted apart; beyond it all are forgotten, so that memory stays bounded. */
const MAX_KEYS = 1000;

/** Lets so many of a kind pass in each second. Runs without a timer. */
export class Allowance {
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
