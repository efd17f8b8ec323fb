import type { AnyStore } from './store/port';

/** In milliseconds. */
export interface RetentionPeriods {
  /** How long ids are known at least. */
  keys: number;
  /** How long bodies are kept. */
  bodies: number;
}

/** Between two rounds, in milliseconds; the first comes a minute after the start. */
const EVERY = 10 * 60 * 1000;
const FIRST = 60 * 1000;
/** Has the store remove what is old, step by step, so that nothing waits long for it. */
export class Tidying {
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** When ids were lost with a part of a file, as `performance.now()` has it. */
  #idsLostAt = -Infinity;

  constructor(
    private readonly store: AnyStore,
    /** Counts from the next step on. */
    public keep: RetentionPeriods,
  ) {
    this.#later(FIRST);
  }

  /** Ids were lost, so many milliseconds ago. */
  idsLost(since: number): void {
    this.#idsLostAt = Math.max(this.#idsLostAt, performance.now() - since);
  }

  /** True while ids may be missing that a repeat could have. */
  get lacksIds(): boolean {
    return performance.now() < this.#idsLostAt + this.keep.keys;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #later(pause: number): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.store.call('tidy', this.keep).then(
        (more) => this.#later(more ? 0 : EVERY),
        () => this.#later(EVERY),
      );
    }, pause);
    this.#timer.unref();
  }
}
