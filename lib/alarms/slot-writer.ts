import { RvmError } from '../error';
import { pause, within } from '../concurrency/timers';
import type { SlotOutcome, Slots, SlotWrite } from './slots';

/** Milliseconds that writes wait for each other which nobody waits for. */
const GATHERED_FOR = 50;
/** Milliseconds that an alarm waits for the store before it goes out all the same. */
const PATIENCE = 1500;
/** Writes in one transaction. */
const MOST = 500;

interface Asked {
  isUrgent: boolean;
  writes: readonly SlotWrite[];
  resolve: (outcomes: SlotOutcome[]) => void;
  reject: (error: unknown) => void;
}

/** Writes the slots of an owner, one transaction after the other, each with what was asked for meanwhile. */
export class SlotWriter {
  #asked: Asked[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;

  constructor(
    private readonly slots: Slots,
    private readonly owner: string,
  ) {}

  /**
   * @param isUrgent false for what may wait a moment for others
   * @throws RvmError STORE_FAILED where the store fails, or does not answer in time
   */
  put(writes: readonly SlotWrite[], isUrgent: boolean): Promise<SlotOutcome[]> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ isUrgent, writes, resolve, reject });
      this.#plan(isUrgent);
    });
  }

  /** Resolves once nothing waits any more; that happens at once from now on. */
  async idle(): Promise<void> {
    while (this.#asked.length > 0 || this.#isWriting) {
      this.#plan(true);
      await pause(1);
    }
  }

  #plan(isUrgent: boolean): void {
    if (this.#isWriting || (this.#timer !== undefined && !isUrgent)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#write(), isUrgent ? 0 : GATHERED_FOR);
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    this.#isWriting = true;
    const asked = this.#take();
    try {
      const writes = asked.flatMap((each) => each.writes);
      const outcomes = await within(this.slots.putSlots(this.owner, writes), PATIENCE);
      if (outcomes === undefined) throw new RvmError('STORE_FAILED', 'The inbox does not answer.');
      let from = 0;
      for (const { writes: own, resolve } of asked) {
        resolve(outcomes.slice(from, from + own.length));
        from += own.length;
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
    this.#isWriting = false;
    if (this.#asked.length > 0) this.#plan(this.#asked.some(({ isUrgent }) => isUrgent));
  }

  /** What one transaction takes. */
  #take(): Asked[] {
    let size = 0;
    const end = this.#asked.findIndex(({ writes }) => (size += writes.length) > MOST);
    return this.#asked.splice(0, end < 0 ? this.#asked.length : Math.max(1, end));
  }
}
