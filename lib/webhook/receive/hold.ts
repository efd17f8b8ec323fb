import { Abort } from '../../concurrency/signals';
import { lateTimeout } from '../../concurrency/timers';

export interface HoldLimits {
  /** When it ends at the latest: a time of the steady clock, in milliseconds. */
  until: number;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  /** What ends it before: asked for only where a request has to wait. */
  endings: () => readonly Abort[];
}

/** Asks to be called back at each change of what is waited for; returns the way to end that. */
export type Watch = (changed: () => void) => () => void;

/**
 * The time for which one request may be held, wherever it waits. One that need not wait costs neither a timer nor a listener;
 * one that waits has a single timer, and nobody looks again and again: whoever changes what it waits for tells.
 */
export class Hold {
  #ending: Abort | undefined;
  #releases: (() => void)[] = [];

  constructor(private readonly limits: HoldLimits) {}

  /** Aborted when the hold ends. */
  get ending(): Abort {
    return (this.#ending ??= this.#begin());
  }

  /** In milliseconds; negative once it is over. */
  get timeLeft(): number {
    return this.limits.until - this.limits.steady();
  }

  /**
   * What `look` finds, now or after a change. It looks when all who are told of the change have been, but within the same turn
   * of the event loop. Undefined where the hold ends before.
   */
  async until<Found>(look: () => Found | undefined, watch: Watch): Promise<Found | undefined> {
    for (;;) {
      const found = look();
      if (found !== undefined || this.ending.reason !== undefined) return found;
      await this.#change(watch);
    }
  }

  /** To be called when the request waits no more: nothing is left behind. */
  release(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  #begin(): Abort {
    const ending = new Abort();
    const end = (reason: Error): void => ending.abort(reason);
    const timer = lateTimeout(() => end(new Error('It was held for too long.')), this.timeLeft);
    const endings = this.limits.endings().map((other) => other.onAbort(end));
    this.#releases = [() => clearTimeout(timer), ...endings];
    return ending;
  }

  /** Resolves at the next change, or when the hold ends. */
  #change(watch: Watch): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        endWatch();
        endListening();
        resolve();
      };
      const endWatch = watch(goOn);
      const endListening = this.ending.onAbort(goOn);
    });
  }
}
