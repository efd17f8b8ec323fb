/** The first alarm comes soon, so that a flow just deployed shows life. */
const FIRST_AFTER_MS = 2000;
const LONGEST_INTERVAL_MS = 24 * 3_600_000;

/**
 * Raises alarms in an even rhythm while there is anybody to tell them to. It goes by real time and not by the
 * sandbox's clock: to move the clock on by a day must not rain a day's alarms.
 */
export class AlarmRhythm {
  readonly #intervalMs: number;
  readonly #raise: () => void;
  readonly #isHeard: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** `perMinute` 0 = never. */
  constructor(perMinute: number, raise: () => void, isHeard: () => boolean) {
    this.#intervalMs = perMinute > 0 ? Math.min(60_000 / perMinute, LONGEST_INTERVAL_MS) : 0;
    this.#raise = raise;
    this.#isHeard = isHeard;
  }

  /** Begins, unless it runs already; it ends by itself when nobody listens. */
  begin(): void {
    if (this.#intervalMs === 0 || this.#timer !== undefined || this.#stopped) return;
    this.#after(Math.min(this.#intervalMs, FIRST_AFTER_MS));
  }

  /** For good. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #after(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#beat(), milliseconds);
  }

  #beat(): void {
    this.#timer = undefined;
    if (!this.#isHeard()) return;
    this.#after(this.#intervalMs);
    this.#raise();
  }
}
