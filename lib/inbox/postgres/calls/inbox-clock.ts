/**
 * The clock of an inbox, as this process knows it: it runs while any instance has the inbox open, and no wall clock moves it.
 * Each instance adds to what it heard last the time since; the greatest of all counts, so that no time is counted twice.
 */
export class InboxClock {
  #heard = 0;
  #heardAt: number;

  /** @param steady milliseconds of a clock that never jumps */
  constructor(private readonly steady: () => number) {
    this.#heardAt = steady();
  }

  /** In milliseconds; too early before the first answer of the database. */
  now(): number {
    return Math.round(this.#heard + this.steady() - this.#heardAt);
  }

  /** So far it has come, as the database says. */
  heard(clock: number): void {
    if (clock < this.now()) return;
    this.#heard = clock;
    this.#heardAt = this.steady();
  }
}
