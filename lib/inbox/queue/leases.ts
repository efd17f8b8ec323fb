import { clampTimerMs } from '../../concurrency/timers';
import type { Consumer } from '../model';
import type { AnyStore } from '../store/port';
import type { LeasedEvent } from './delivery-window';

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
 * Tells when the time of an item is up; while it is paused, not before it goes on. One timer for each item: Node.js keeps those
 * of one length in a list, so that one more or less costs the same however many there are.
 */
export class Deadlines<Item extends object> {
  readonly #timers = new Map<Item, NodeJS.Timeout>();
  /** Whose time was up during the pause. */
  readonly #due = new Set<Item>();
  #isRunning = false;

  constructor(private readonly isUp: (item: Item) => void) {}

  /** From now on, instead of what was set for it before. @param length in milliseconds */
  set(item: Item, length: number): void {
    this.clear(item);
    const part = clampTimerMs(Math.max(1, length));
    const timer = setTimeout(() => this.#passed(item, length - part), part);
    timer.unref();
    this.#timers.set(item, timer);
  }

  clear(item: Item): void {
    const timer = this.#timers.get(item);
    if (timer !== undefined) clearTimeout(timer);
    this.#timers.delete(item);
    this.#due.delete(item);
  }

  pause(): void {
    this.#isRunning = false;
  }

  resume(): void {
    this.#isRunning = true;
    const due = [...this.#due];
    this.#due.clear();
    for (const item of due) this.isUp(item);
  }

  #passed(item: Item, left: number): void {
    this.#timers.delete(item);
    if (left > 0) this.set(item, left);
    else if (this.#isRunning) this.isUp(item);
    else this.#due.add(item);
  }
}

interface LeasesWork {
  consumer(): Consumer | undefined;
  /** False once it was settled or given back. */
  isHeld(held: LeasedEvent): boolean;
  /** True where a later one of its alarm, which did not wait for it, is at work. */
  isOvertaken(held: LeasedEvent): boolean;
  /** The pause after its lease is over. */
  comesAgain(held: LeasedEvent): void;
  /** The store cannot be told what becomes of one: those of its alarm beside the inbox need not wait for it. */
  isStuck(held: LeasedEvent): void;
  /** It was settled meanwhile, or is a dead letter now. */
  isOver(held: LeasedEvent): void;
}

/** The leases of events that the flow has to settle, and the pauses before they come again. */
export class LeaseTimers {
  readonly #deadlines = new Deadlines<LeasedEvent>((held) => this.#isDue(held));

  constructor(
    private readonly store: AnyStore,
    private readonly work: LeasesWork,
  ) {}

  /** @param length in milliseconds */
  begin(held: LeasedEvent, length: number): void {
    held.phase = 'at-flow';
    held.isStuck = false;
    this.#deadlines.set(held, length);
  }

  end(held: LeasedEvent): void {
    this.#deadlines.clear(held);
  }

  /**
   * The flow wants more time for an event. One that comes again has no lease: a node that works on it still, as for its video,
   * must not keep it from that.
   */
  extend(held: LeasedEvent): void {
    if (held.phase === 'at-flow' && held.isStuck !== true)
      this.begin(held, this.work.consumer()?.redeliverAfter ?? 0);
  }

  /** The flow wants an event again. @throws RvmError STORE_FAILED */
  async retry(held: LeasedEvent, by?: string): Promise<void> {
    if (held.phase === 'at-flow') await this.#lapse(held, 'retry', by);
  }

  /** None ends before `resume`. */
  pause(): void {
    this.#deadlines.pause();
  }

  resume(): void {
    this.#deadlines.resume();
  }

  #isDue(held: LeasedEvent): void {
    if (!this.work.isHeld(held)) return;
    if (held.phase === 'paused' && held.isStuck === true) {
      if (this.work.isOvertaken(held)) return this.#deadlines.set(held, ASK_AGAIN_AFTER);
      // From now on the others wait for it again.
      held.isStuck = false;
    }
    const work = held.phase === 'at-flow' ? this.#lapse(held, 'lease') : this.#again(held);
    // The store is asked again.
    work.catch(() => undefined);
  }

  /** A lease has ended: the event comes again after a pause, or is a dead letter. */
  async #lapse(held: LeasedEvent, again: 'lease' | 'retry', by?: string): Promise<void> {
    const { deliveryId } = held.delivery;
    const consumer = this.work.consumer();
    const maxAttempts = consumer?.maxAttempts ?? Infinity;
    const lapse = { deliveryId, again, maxAttempts, ...(by !== undefined && { by }) };
    const lapsed = await this.#ask(held, () => this.store.call('lapse', lapse));
    // Given back meanwhile perhaps, but dead it is.
    if (lapsed?.dead === true) (this.work.consumer() ?? consumer)?.onDead(held.delivery, 'attempts');
    if (!this.work.isHeld(held)) return;
    if (lapsed === undefined || lapsed.dead) return this.work.isOver(held);
    held.delivery = { ...held.delivery, again };
    held.phase = 'paused';
    this.#deadlines.set(held, backOff(lapsed.counted));
  }

  /** The pause is over. */
  async #again(held: LeasedEvent): Promise<void> {
    const { deliveryId } = held.delivery;
    const attempt = await this.#ask(held, () => this.store.call('again', deliveryId));
    if (!this.work.isHeld(held)) return;
    if (attempt === undefined) return this.work.isOver(held);
    held.delivery = { ...held.delivery, attempt };
    this.work.comesAgain(held);
  }

  /** Where the store fails, the event stays as it is, and the store is asked again later. */
  async #ask<Answer>(held: LeasedEvent, ask: () => Promise<Answer>): Promise<Answer> {
    const { phase } = held;
    held.phase = 'asking';
    this.#deadlines.clear(held);
    try {
      return await ask();
    } catch (error) {
      if (this.work.isHeld(held)) {
        held.isStuck = true;
        held.phase = phase;
        this.#deadlines.set(held, ASK_AGAIN_AFTER);
        this.work.isStuck(held);
      }
      throw error;
    }
  }
}
