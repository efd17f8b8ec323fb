import path from 'node:path';

type Act = (...given: unknown[]) => void;
type Begin = (act: Act, ms?: number, ...given: unknown[]) => NodeJS.Timeout;

const LIB = path.join(__dirname, '..', '..', '..', 'lib') + path.sep;
const REAL = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  clearTimeout: globalThis.clearTimeout,
  clearInterval: globalThis.clearInterval,
};

/**
 * Notes the timers that code below `lib/` starts and that are neither fired nor cleared, also those that do not keep the
 * process alive. It stands in the place of the global functions, so it does not see those of `node:timers`.
 */
export class TimerWatch {
  readonly #pending = new Map<NodeJS.Timeout, string>();

  start(): void {
    Object.assign(globalThis, {
      setTimeout: Object.assign(this.#begin(REAL.setTimeout, true), REAL.setTimeout),
      setInterval: this.#begin(REAL.setInterval, false),
      clearTimeout: (timer: NodeJS.Timeout | undefined) => this.#end(timer),
      clearInterval: (timer: NodeJS.Timeout | undefined) => this.#end(timer),
    });
  }

  /** Where those were started that are still to fire. */
  get pending(): string[] {
    return [...this.#pending.values()];
  }

  stop(): void {
    Object.assign(globalThis, REAL);
    this.#pending.clear();
  }

  #begin(real: typeof setTimeout | typeof setInterval, once: boolean): Begin {
    return (act, ms, ...given) => {
      const caller = new Error('a timer').stack?.split('\n')[2]?.trim() ?? '';
      const timer = real(() => {
        if (once) this.#pending.delete(timer);
        act(...given);
      }, ms);
      if (caller.includes(LIB)) this.#pending.set(timer, caller);
      return timer;
    };
  }

  #end(timer: NodeJS.Timeout | undefined): void {
    if (timer !== undefined) this.#pending.delete(timer);
    REAL.clearTimeout(timer);
  }
}
