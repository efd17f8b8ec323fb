/**
 * The cookies of one session at a time: all of them are needed, none other may come, and each answer brings new
 * values that make the old ones invalid.
 */
export class Cookies {
  readonly #attributes: Readonly<Record<string, string>>;
  readonly #others: readonly string[];
  #values: ReadonlyMap<string, string> = new Map();
  #turn = 0;

  /**
   * @param attributes what follows the value, by the name of the cookie
   * @param others complete `Set-Cookie` values of cookies that must not come back, as their attributes say
   */
  constructor(attributes: Readonly<Record<string, string>>, others: readonly string[]) {
    this.#attributes = attributes;
    this.#others = others;
  }

  /** The `Set-Cookie` values of an answer; from now on only these are accepted. */
  next(): string[] {
    this.#turn += 1;
    this.#values = new Map(
      Object.keys(this.#attributes).map((name, place) => [name, `turn-${this.#turn}.${place}`]),
    );
    const own = [...this.#values].map(([name, value]) => `${name}=${value}${this.#attributes[name] ?? ''}`);
    return [...own, ...this.#others];
  }

  accepts(header: string | undefined): boolean {
    if (header === undefined || this.#values.size === 0) return false;
    const sent = header.split('; ');
    const wanted = [...this.#values].map(([name, value]) => `${name}=${value}`);
    return sent.length === wanted.length && wanted.every((pair) => sent.includes(pair));
  }

  forget(): void {
    this.#values = new Map();
  }
}
