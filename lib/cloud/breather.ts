import { setImmediate as nextTurn } from 'node:timers/promises';

/** Long work that holds up the event loop for longer than this, in milliseconds, lets everybody else go first. */
const SLICE_MS = 5;

/** Cuts long work into slices, so that alarms do not wait for it. */
export class Breather {
  #since = performance.now();

  /** To be called often: lets the event loop turn where it was held up for long enough. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#since < SLICE_MS) return;
    await nextTurn();
    this.#since = performance.now();
  }

  /** True where `breathe` would wait: spares the cost of awaiting in a tight loop. */
  get due(): boolean {
    return performance.now() - this.#since >= SLICE_MS;
  }
}
