import type { Delivery } from '../inbox';

/** An event that is leased. */
export interface Held {
  delivery: Delivery;
  /**
   * `next`: about to be handed to the flow. `at-flow`: the flow has it. `paused`: its lease has ended, and it comes again
   * after a pause. `asking`: the store is being told.
   */
  phase: 'next' | 'at-flow' | 'paused' | 'asking';
  /** Steady time at which the lease, or the pause, ends. */
  due: number;
}

/** Events handed over between two turns of the event loop. */
const BATCH = 50;
/** Turns of the event loop that a flow needs to hand an event on, if it does so asynchronously. */
const TURNS_TO_LEAVE = 3;

export interface HandOverWork {
  /** Hands one event to the flow. True where that is all it takes: then it is `leaving` for a moment. */
  hand(held: Held): boolean;
  /** These have left. */
  haveLeft(held: Held[]): void;
  /** Some have been handed over. */
  handed(): void;
}

/** Hands events over in later turns of the event loop, so that their senders have their answers first. */
export class HandOver {
  #next: Held[] = [];
  readonly #leaving = new Set<Held>();
  #isHanding = false;

  constructor(private readonly work: HandOverWork) {}

  add(held: Held): void {
    this.#next.push(held);
    if (!this.#isHanding) setImmediate(() => this.#handSome());
    this.#isHanding = true;
  }

  /** True for an event that was handed over, and may be lost if its flow goes now. */
  isLeaving(held: Held): boolean {
    return this.#leaving.has(held);
  }

  /** Those are neither handed over nor counted as left. */
  take(given: readonly Held[]): void {
    for (const held of given) this.#leaving.delete(held);
    this.#next = this.#next.filter((held) => !given.includes(held));
  }

  #handSome(): void {
    const batch = this.#next.splice(0, BATCH);
    const leaving = batch.filter((held) => this.work.hand(held));
    for (const held of leaving) this.#leaving.add(held);
    this.#isHanding = this.#next.length > 0;
    if (this.#isHanding) setImmediate(() => this.#handSome());
    if (leaving.length > 0) afterTurns(TURNS_TO_LEAVE, () => this.#haveLeft(leaving));
    this.work.handed();
  }

  #haveLeft(batch: readonly Held[]): void {
    const left = batch.filter((held) => this.#leaving.delete(held));
    if (left.length > 0) this.work.haveLeft(left);
  }
}

function afterTurns(turns: number, act: () => void): void {
  if (turns === 0) act();
  else setImmediate(() => afterTurns(turns - 1, act));
}
