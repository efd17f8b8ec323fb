/**
 * Bounds the work under way: at most `capacity` complete requests are judged and stored at a time, and four times as
 * many wait in front.
 */
export class Admission {
  #inside = 0;
  #waiting = 0;

  constructor(private readonly capacity: number) {}

  /** Takes a place where one is free. */
  tryEnter(): true | undefined {
    if (this.#inside >= this.capacity) return undefined;
    this.#inside++;
    return true;
  }

  leave(): void {
    this.#inside--;
  }

  /** Runs a wait for a place; undefined at once where too many wait already. */
  async queue(wait: () => Promise<true | undefined>): Promise<true | undefined> {
    if (this.#waiting >= this.capacity * 4) return undefined;
    this.#waiting++;
    try {
      return await wait();
    } finally {
      this.#waiting--;
    }
  }
}
