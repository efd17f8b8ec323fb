type Task = () => void | Promise<void>;

interface Entry {
  at: number;
  order: number;
  task: Task;
}

/** Longest wait of one real timer; for a longer wait the timer is set again. */
const LONGEST_TIMER_MS = 3_600_000;
/** Limit of tasks per advance, so that a task that reschedules itself cannot run for ever. */
const TASKS_PER_ADVANCE = 100_000;

/**
 * The sandbox's clock: the real time plus the sum of all {@link advance} calls. Long waits (resends, sessions, the ends of
 * alarms) use it, so that a test can skip 24 hours.
 */
export class Clock {
  readonly #entries: Entry[] = [];
  #offset = 0;
  #order = 0;
  #timer: NodeJS.Timeout | undefined;
  #advancing: Promise<void> | undefined;
  readonly #running = new Set<Promise<void>>();
  #closed = false;

  /** Milliseconds since 1970 (UTC). An arrow function, so that it can be passed as a callback. */
  readonly now = (): number => Date.now() + this.#offset;

  /**
   * Runs a task `delayMs` milliseconds from now, by this clock. Errors of the task are ignored.
   * @returns a function that cancels the task
   */
  schedule(delayMs: number, task: Task): () => void {
    if (this.#closed) return () => undefined;
    const entry = { at: this.now() + Math.max(0, delayMs), order: this.#order++, task };
    this.#entries.push(entry);
    this.#entries.sort((a, b) => a.at - b.at || a.order - b.order);
    this.#arm();
    return () => this.#remove(entry);
  }

  /**
   * Moves the clock forward. Due tasks run in order, each at its own time and each awaited, so that a task scheduled by one of
   * them (the next resend) still runs in the same advance. Running tasks are awaited first. Concurrent calls are queued.
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

  /** Cancels every task and stops the timer. */
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
