import type { LeasedEvent } from './held';

/** Events handed over between two turns of the event loop. */
const BATCH = 50;
/** Turns of the event loop that a flow needs to hand an event on, if it does so asynchronously. */
const TURNS_TO_LEAVE = 3;

export interface HandOverWork {
  /** False while nothing may be handed to a flow; asked before each event. */
  mayHand(): boolean;
  /** Hands one event to the flow. True where that is all it takes: then it is `leaving` for a moment. */
  hand(held: LeasedEvent): boolean;
  /** These have left. */
  haveLeft(held: LeasedEvent[]): void;
}

/** Hands events over in later turns of the event loop, so that their senders have their answers first. */
export class HandOver {
  /** The last first: taken from its end, a line need not be moved up. Filled from `#later` when it is empty. */
  #next: LeasedEvent[] = [];
  #later: LeasedEvent[] = [];
  readonly #leaving = new Set<LeasedEvent>();
  #isHanding = false;

  constructor(private readonly work: HandOverWork) {}

  add(held: LeasedEvent): void {
    this.#later.push(held);
    this.goOn();
  }

  /** Goes on where it had to stop. */
  goOn(): void {
    if (!this.#isHanding) setImmediate(() => this.#handSome());
    this.#isHanding = true;
  }

  /** True for an event that was handed over, and may be lost if its flow goes now. */
  isLeaving(held: LeasedEvent): boolean {
    return this.#leaving.has(held);
  }

  /** It is held no more, so it does not count as left. */
  forget(held: LeasedEvent): void {
    this.#leaving.delete(held);
  }

  #handSome(): void {
    const leaving: LeasedEvent[] = [];
    for (let count = 0; count < BATCH && this.work.mayHand(); count += 1) {
      const held = this.#takeNext();
      if (held === undefined) break;
      if (!this.work.hand(held)) continue;
      this.#leaving.add(held);
      leaving.push(held);
    }
    this.#isHanding = this.#next.length + this.#later.length > 0 && this.work.mayHand();
    if (this.#isHanding) setImmediate(() => this.#handSome());
    if (leaving.length > 0) afterTurns(TURNS_TO_LEAVE, () => this.#haveLeft(leaving));
  }

  /** Not what was settled or given back before its turn. */
  #takeNext(): LeasedEvent | undefined {
    for (;;) {
      if (this.#next.length === 0) {
        this.#next = this.#later.toReversed();
        this.#later = [];
      }
      const held = this.#next.pop();
      if (held === undefined || held.phase === 'next') return held;
    }
  }

  #haveLeft(batch: readonly LeasedEvent[]): void {
    const left = batch.filter((held) => this.#leaving.delete(held));
    if (left.length > 0) this.work.haveLeft(left);
  }
}

function afterTurns(turns: number, act: () => void): void {
  if (turns === 0) act();
  else setImmediate(() => afterTurns(turns - 1, act));
}
