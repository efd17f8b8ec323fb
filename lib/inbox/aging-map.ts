/**
 * A map that forgets: entries older than `maxAge` and, above `maxSize`, the oldest ones. Age goes by insertion order
 * and a clock that only runs forward, never by the wall clock, which may jump.
 */
export class AgingMap<Value> {
  readonly #entries = new Map<string, { value: Value; since: number }>();

  /**
   * @param maxAge milliseconds
   * @param clock milliseconds of a clock that never jumps
   */
  constructor(
    private readonly maxSize: number,
    private readonly maxAge: number,
    private readonly clock: () => number,
  ) {}

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    this.#forgetOld();
    return this.#entries.get(key)?.value;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, since: this.clock() });
    this.#forgetOld();
  }

  #forgetOld(): void {
    const oldest = this.clock() - this.maxAge;
    for (const [key, { since }] of this.#entries) {
      if (since > oldest && this.#entries.size <= this.maxSize) return;
      this.#entries.delete(key);
    }
  }
}
