import { backOff } from './back-off';

export interface UnreadEventsWork {
  /** Never handed over: they wait again. */
  giveBack(deliveryIds: string[]): Promise<void>;
  /** Does something after a pause, in milliseconds. */
  later(act: () => void, pause: number): void;
}

/**
 * Leased events that the disk failed to give. It may give them later, so each goes back to those that wait after a pause, which
 * grows, for a sector may be lost for good.
 */
export class UnreadEvents {
  /** How often each could not be read in a row. */
  readonly #failures = new Map<string, number>();
  readonly #paused = new Set<string>();

  constructor(private readonly work: UnreadEventsWork) {}

  /** It could not be read. True the first time. */
  failed(deliveryId: string): boolean {
    const failures = (this.#failures.get(deliveryId) ?? 0) + 1;
    this.#failures.set(deliveryId, failures);
    this.#paused.add(deliveryId);
    this.work.later(() => void this.#giveBack([deliveryId]), backOff(failures));
    return failures === 1;
  }

  /** Whether it is leased here. */
  isPaused(deliveryId: string): boolean {
    return this.#paused.has(deliveryId);
  }

  /** It was read, or is settled. */
  forget(deliveryId: string): void {
    this.#failures.delete(deliveryId);
    this.#paused.delete(deliveryId);
  }

  /** Does not wait for the ends of the pauses. */
  giveAllBack(): Promise<void> {
    return this.#giveBack([...this.#paused]);
  }

  async #giveBack(deliveryIds: readonly string[]): Promise<void> {
    const given = deliveryIds.filter((id) => this.#paused.delete(id));
    if (given.length > 0) await this.work.giveBack(given);
  }
}
