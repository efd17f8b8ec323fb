type Task = () => void | Promise<void>;

interface Entry {
  at: number;
  order: number;
  task: Task;
}

/** Longest single wait of a real timer; beyond it the timer is set again. */
const LONGEST_TIMER_MS = 3_600_000;
/** One advance runs at most this many tasks, so that a task that schedules itself cannot run for ever. */
const TASKS_PER_ADVANCE = 100_000;

/**
 * The sandbox's clock: the real time plus what was added by {@link advance}. Waits of hours (resends, sessions,
 * the ends of alarms) go by it, so that a test can have 24 hours in a moment.
 */
export class Clock {
  readonly #entries: Entry[] = [];
  #offset = 0;
  #order = 0;
  #timer: NodeJS.Timeout | undefined;
  #advancing: Promise<void> | undefined;
  readonly #running = new Set<Promise<void>>();
  #closed = false;

  /** Milliseconds since 1970 (UTC). An arrow, so that it can be handed on as a function. */
  readonly now = (): number => Date.now() + this.#offset;

  /** Runs a task `delayMs` from now, by this clock; the answer takes it back. A task sees to its own failures. */
  schedule(delayMs: number, task: Task): () => void {
    if (this.#closed) return () => undefined;
    const entry = { at: this.now() + Math.max(0, delayMs), order: this.#order++, task };
    this.#entries.push(entry);
    this.#entries.sort((a, b) => a.at - b.at || a.order - b.order);
    this.#arm();
    return () => this.#remove(entry);
  }

  /**
   * Moves the clock forward. Tasks that become due run in order, each at its own time and each awaited, so that what
   * one of them schedules (the next resend) still falls into the same advance. Tasks under way are awaited first,
   * and calls queue up behind one another.
   */
  advance(seconds: number): Promise<void> {
    const run = (this.#advancing ?? Promise.resolve()).then(() => this.#advanceBy(seconds * 1000));
    const settled = run.finally(() => {
      if (this.#advancing !== settled) return;
      this.#advancing = undefined;
      this.#arm();
    });
    this.#advancing = settled;
    return settled;
  }

  /** Forgets every task and stops the timer. */
  close(): void {
    this.#closed = true;
    this.#entries.length = 0;
    clearTimeout(this.#timer);
  }

  async #advanceBy(milliseconds: number): Promise<void> {
    await Promise.all(this.#running);
    const target = this.now() + milliseconds;
    for (let ran = 0; ran < TASKS_PER_ADVANCE; ran++) {
      const next = this.#entries[0];
      if (next === undefined || next.at > target) break;
      this.#entries.shift();
      this.#moveTo(next.at);
      await this.#run(next);
    }
    this.#moveTo(target);
  }

  #moveTo(time: number): void {
    this.#offset += Math.max(0, time - this.now());
  }

  #remove(entry: Entry): void {
    const index = this.#entries.indexOf(entry);
    if (index >= 0) this.#entries.splice(index, 1);
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const next = this.#entries[0];
    if (next === undefined || this.#advancing !== undefined || this.#closed) return;
    const wait = Math.min(Math.max(0, next.at - this.now()), LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#runDue(), wait);
  }

  #runDue(): void {
    if (this.#advancing !== undefined) return;
    const now = this.now();
    while (this.#entries[0] !== undefined && this.#entries[0].at <= now) {
      const entry = this.#entries.shift();
      if (entry !== undefined) void this.#run(entry);
    }
    this.#arm();
  }

  async #run(entry: Entry): Promise<void> {
    const run = Promise.resolve()
      .then(entry.task)
      .catch(() => undefined);
    this.#running.add(run);
    await run;
    this.#running.delete(run);
  }
}
