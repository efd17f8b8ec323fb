/**
 * Bounds the work under way for one path: at most `capacity` complete requests are judged and stored at a time, four
 * times as many wait in front, and the bodies of both together take at most `maxBytes`. Each path has its own, so that
 * one that cannot judge, and holds what comes, keeps nothing of another out.
 */
export class Admission {
  #inside = 0;
  #waiting = 0;
  #bytes = 0;

  constructor(
    private readonly capacity: number,
    private readonly maxBytes: number,
  ) {}

  /**
   * Runs `work` once there is a place for it.
   * @param bytes memory that its body takes
   * @param wait asks again and again whether there is a place; gives up with undefined
   * @returns false where there was none
   */
  async admit(
    bytes: number,
    wait: (take: () => true | undefined) => Promise<true | undefined>,
    work: () => Promise<void>,
  ): Promise<boolean> {
    if (this.#bytes + bytes > this.maxBytes) return false;
    this.#bytes += bytes;
    try {
      if (!(await this.#enter(wait))) return false;
      try {
        await work();
        return true;
      } finally {
        this.#inside -= 1;
      }
    } finally {
      this.#bytes -= bytes;
    }
  }

  /** A newcomer goes straight in only where nobody waits. */
  async #enter(wait: (take: () => true | undefined) => Promise<true | undefined>): Promise<boolean> {
    if (this.#waiting === 0 && this.#take() === true) return true;
    if (this.#waiting >= this.capacity * 4) return false;
    this.#waiting += 1;
    try {
      return (await wait(() => this.#take())) === true;
    } finally {
      this.#waiting -= 1;
    }
  }

  #take(): true | undefined {
    if (this.#inside >= this.capacity) return undefined;
    this.#inside += 1;
    return true;
  }
}
