import { within } from '../concurrency/timers';
import { SlotWriter } from './slot-writer';
import type { Slot, SlotOutcome, Slots, SlotWrite } from './slots';

/** Milliseconds between two looks at what others have changed. */
const REFRESH_EVERY = 250;
/** Milliseconds between two tries of a store that fails. */
const RETRY = 1000;
/** Milliseconds that a reading may take. */
const PATIENCE = 5000;

export interface StoreLinkOptions {
  slots: Slots;
  owner: string;
  /** True while nobody else can write there: own writes are no news. */
  isAlone: () => boolean;
  /** Told of slots that others, or a former run, have changed. `isAll`: what is not among them is gone. */
  adopt: (slots: readonly Slot[], isAll: boolean) => void;
  /** Told when the store can be used again, once all in it was adopted. */
  recovered: () => void;
  /** Told when it fails. */
  failed: () => void;
}

/** The way of one instance to the slots it shares with others: writes, news, and how both go on while the store fails. */
export class StoreLink {
  readonly #writer: SlotWriter;
  readonly #unwatch: () => void;
  /** All changes up to this one are known. */
  #version = 0;
  #isFailing = false;
  #isClosed = false;
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #readAt = -Infinity;

  constructor(private readonly options: StoreLinkOptions) {
    this.#writer = new SlotWriter(options.slots, options.owner);
    this.#unwatch = options.slots.watchSlots(options.owner, () => this.#hear());
  }

  /** True while all goes on in memory. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** @throws RvmError STORE_FAILED; then all goes on in memory for a while */
  async put(writes: readonly SlotWrite[], isUrgent: boolean): Promise<SlotOutcome[]> {
    try {
      const outcomes = await this.#writer.put(writes, isUrgent);
      for (const { slot, written } of outcomes)
        if (written && slot?.version === this.#version + 1) this.#version = slot.version;
      return outcomes;
    } catch (error) {
      this.#fail();
      throw error;
    }
  }

  /** What others have changed is adopted, or it cannot be for now. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read(this.#version).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** @param patience milliseconds for what still waits to be written */
  async close(patience: number): Promise<void> {
    this.#isClosed = true;
    this.#unwatch();
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    await within(this.#writer.idle(), patience);
  }

  async #read(since: number): Promise<void> {
    this.#readAt = performance.now();
    const { slots, owner } = this.options;
    const changed = await within(slots.slots(owner, since), PATIENCE).catch(() => undefined);
    if (this.#isClosed) return;
    if (changed === undefined) return this.#fail();
    this.#version = changed.isAll ? changed.version : Math.max(this.#version, changed.version);
    if (changed.isAll || changed.slots.length > 0) this.options.adopt(changed.slots, changed.isAll);
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.options.recovered();
  }

  #hear(): void {
    if (this.#timer !== undefined || this.#isFailing || this.#isClosed || this.options.isAlone()) return;
    const pause = Math.max(0, this.#readAt + REFRESH_EVERY - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.refresh();
    }, pause);
  }

  #fail(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#retry);
    // All is read again: what was written last may be there or not.
    this.#version = 0;
    this.#retry = setTimeout(() => void this.refresh(), RETRY);
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.options.failed();
  }
}
