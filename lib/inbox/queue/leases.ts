import { clampTimerMs } from '../../concurrency/timers';
import type { ReturnedLeases } from '../store/port';
import type { HeldEvent } from './delivery-window';

/** Pauses before the next delivery, in milliseconds; the last one from then on. */
const PAUSES = [1_000, 5_000, 30_000, 120_000, 600_000] as const;

/**
 * The pause after a delivery that came to nothing, in milliseconds.
 * @param attempts deliveries so far, at least 1
 */
export function backOff(attempts: number): number {
  return PAUSES[Math.max(0, attempts - 1)] ?? PAUSES[4];
}

/** Before the store is asked again after it failed, in milliseconds. */
export const ASK_AGAIN_AFTER = 1000;

/**
 * Tells when the lease or the pause of an event is over; while the flow stands still, not before it goes on. One timer for each:
 * Node.js keeps those of one length in a list, so that one more or less costs the same however many there are.
 */
export class Deadlines {
  /** Whose time was up during the pause. */
  readonly #due = new Set<HeldEvent>();
  #isRunning = false;

  constructor(private readonly isUp: (held: HeldEvent) => void) {}

  /** From now on, instead of what was set for it before. @param length in milliseconds */
  set(held: HeldEvent, length: number): void {
    this.clear(held);
    const part = clampTimerMs(Math.max(1, length));
    held.timer = setTimeout(() => this.#passed(held, length - part), part);
    held.timer.unref();
  }

  clear(held: HeldEvent): void {
    if (held.timer !== undefined) clearTimeout(held.timer);
    held.timer = undefined;
    this.#due.delete(held);
  }

  pause(): void {
    this.#isRunning = false;
  }

  resume(): void {
    this.#isRunning = true;
    const due = [...this.#due];
    this.#due.clear();
    for (const held of due) this.isUp(held);
  }

  #passed(held: HeldEvent, left: number): void {
    held.timer = undefined;
    if (left > 0) this.set(held, left);
    else if (this.#isRunning) this.isUp(held);
    else this.#due.add(held);
  }
}

/** Ids of leased events that are on their way back to those that wait. */
export class GoingBack {
  /**
   * True from a failure on until it is known what became of them. Their places seem free, and may not be: nothing is to be leased
   * meanwhile.
   */
  isUnsure = false;
  /** The store is being told of them. */
  readonly #underWay = new Set<string>();
  /** Never handed over, as far as the store has not confirmed that. */
  readonly #unsent = new Set<string>();

  has(deliveryId: string): boolean {
    return this.#underWay.has(deliveryId);
  }

  begin({ unsent, cutOff }: ReturnedLeases): void {
    for (const id of [...unsent, ...cutOff]) this.#underWay.add(id);
    for (const id of unsent) this.#unsent.add(id);
  }

  /** @param areBack false where the store failed: nobody knows what it has done */
  end({ unsent, cutOff }: ReturnedLeases, areBack: boolean): void {
    for (const id of [...unsent, ...cutOff]) this.#underWay.delete(id);
    if (areBack) for (const id of unsent) this.#unsent.delete(id);
    else this.isUnsure = true;
  }

  /** Those that are leased, and nobody holds them, as they are to go back; of others it need not be known any more. */
  lost(deliveryIds: readonly string[]): ReturnedLeases {
    const unsent = deliveryIds.filter((id) => this.#unsent.has(id));
    const cutOff = deliveryIds.filter((id) => !this.#unsent.has(id));
    for (const id of this.#unsent) if (!this.#underWay.has(id)) this.#unsent.delete(id);
    return { unsent, cutOff };
  }
}
