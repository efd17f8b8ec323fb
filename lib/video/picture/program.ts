/** Milliseconds. */
const ASK_AGAIN = 60_000;

/** Where a program is. One that was found stays until it is forgotten; one that is missing is looked for again after a minute. */
export class Program {
  readonly #look: () => Promise<string | undefined>;
  #found: Promise<string | undefined> | undefined;
  /** Milliseconds of `performance.now`. */
  #lookAgainAt = Infinity;

  /** @param look gives the file of one that runs, undefined where there is none; never fails */
  constructor(look: () => Promise<string | undefined>) {
    this.#look = look;
  }

  find(): Promise<string | undefined> {
    if (performance.now() >= this.#lookAgainAt) this.forget();
    this.#found ??= this.#lookNow();
    return this.#found;
  }

  /** For one that was found, and is not there any more. */
  forget(): void {
    this.#found = undefined;
    this.#lookAgainAt = Infinity;
  }

  async #lookNow(): Promise<string | undefined> {
    const file = await this.#look();
    if (file === undefined) this.#lookAgainAt = performance.now() + ASK_AGAIN;
    return file;
  }
}
