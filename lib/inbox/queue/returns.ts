import type { ReturnedLeases } from '../store/protocol';
import type { AnyStore } from '../store/port';

export interface ReturnsWork {
  /** Whether an event is leased here. */
  isHeld(deliveryId: string): boolean;
  /** So many wait again. */
  returned(count: number): void;
  /** Does something after a pause. */
  later(act: () => void): void;
}

/** Leased events of one endpoint on their way back to those that wait. */
export class Returns {
  /** The store is being told of them. */
  readonly #underWay = new Set<string>();
  /** Never handed over, as far as the store has not confirmed that. */
  readonly #unsent = new Set<string>();
  #isUnsure = false;

  constructor(
    private readonly store: AnyStore,
    private readonly endpointId: string,
    private readonly work: ReturnsWork,
  ) {}

  /**
   * True from a failure on until it is known what became of them. Their places seem free, and may not be: nothing is to be
   * leased meanwhile.
   */
  get isUnsure(): boolean {
    return this.#isUnsure;
  }

  /** Resolves when that is durable, or failed. */
  give(back: ReturnedLeases): Promise<void> {
    return this.#give(back, (count) => this.work.returned(count));
  }

  async #give(back: ReturnedLeases, returned: (count: number) => void): Promise<void> {
    const ids = [...back.unsent, ...back.cutOff];
    if (ids.length === 0) return;
    for (const id of ids) this.#underWay.add(id);
    for (const id of back.unsent) this.#unsent.add(id);
    try {
      const count = await this.store.call('giveBack', back);
      for (const id of back.unsent) this.#unsent.delete(id);
      for (const id of ids) this.#underWay.delete(id);
      // In one step with the answer: what the store tells next counts them already.
      returned(count);
    } catch {
      for (const id of ids) this.#underWay.delete(id);
      this.#isUnsure = true;
      this.work.later(() => this.reconcile());
    }
  }

  /**
   * Gives back what the store has leased and nobody holds. Nobody knows what a store that failed has done of what it was asked
   * last: the answer may be lost, and the lease on the disk.
   */
  reconcile(): void {
    this.store.call('leased', this.endpointId).then(
      (leased) => {
        const lost = leased.filter((id) => !this.work.isHeld(id) && !this.#underWay.has(id));
        const unsent = lost.filter((id) => this.#unsent.has(id));
        const cutOff = lost.filter((id) => !this.#unsent.has(id));
        for (const id of this.#unsent) if (!this.#underWay.has(id)) this.#unsent.delete(id);
        if (lost.length > 0) void this.#give({ unsent, cutOff }, (count) => this.#known(count));
        else this.#known(0);
      },
      () => this.work.later(() => this.reconcile()),
    );
  }

  #known(returned: number): void {
    this.#isUnsure = false;
    this.work.returned(returned);
  }
}
