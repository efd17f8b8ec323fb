/** Under which name of `meta` it is kept: what it showed, and what the wall clock showed then, in milliseconds. */
export const SLOT_CLOCK = 'slot-clock';

const KEPT = /^(\d{1,15}) (\d{1,15})$/;

export interface SlotClockOptions {
  /** As `meta` has it. */
  kept: string | undefined;
  /** When a slot was written last, in milliseconds of this clock: where it cannot be read. */
  written: number;
  /** Milliseconds since the file was opened, of a clock that never jumps. */
  steady: () => number;
  /** Milliseconds since 1970. */
  wall: () => number;
}

/**
 * The clock by which slots end: that of the file does not run while it is closed, but a level that was to last a minute is over
 * after an hour without Node-RED. While the file is open no wall clock moves it; for the time it was closed there is no other,
 * and one that was set back counts as none.
 */
export class SlotClock {
  readonly #atOpen: number;

  constructor(private readonly options: SlotClockOptions) {
    const { kept, written, wall } = options;
    const [, clock, then] = KEPT.exec(kept ?? '') ?? [];
    const closed = then === undefined ? 0 : Math.max(0, wall() - Number(then));
    this.#atOpen = Math.max(Number(clock ?? 0), written) + closed;
  }

  /** In milliseconds, a whole number. */
  now(): number {
    return Math.round(this.#atOpen + this.options.steady());
  }

  /** As it is to be kept. */
  toString(): string {
    return `${this.now()} ${Math.max(0, Math.round(this.options.wall()))}`;
  }
}
