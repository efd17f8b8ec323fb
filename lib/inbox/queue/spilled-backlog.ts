import type { LeasedMessage, StoreCalls } from '../store/protocol';
import type { DeliveryWindow } from './delivery-window';

/** Where events wait that the inbox could not take. */
export interface SpilledSource {
  /** Fails never. */
  lease(take: StoreCalls['lease']['take']): Promise<LeasedMessage[]>;
  /** How many of an endpoint wait. */
  waiting(endpoint: string): number;
}

export interface SpilledBacklogWork {
  mayLease(): boolean;
  /** They have been leased just now. */
  take(events: readonly LeasedMessage[]): void;
}

/** Events leased in one go. */
const BATCH = 50;

/** The events of one endpoint that wait beside the inbox. They share the window with those in it, and wait for none of them. */
export class SpilledBacklog {
  #isLooking = false;
  #mustLookAgain = false;

  constructor(
    private readonly source: SpilledSource,
    private readonly endpointId: string,
    private readonly window: DeliveryWindow,
    private readonly work: SpilledBacklogWork,
  ) {}

  get waiting(): number {
    return this.source.waiting(this.endpointId);
  }

  /** Leases what waits, as far as there is room. */
  look(): void {
    this.#mustLookAgain = this.#isLooking;
    const { window } = this;
    const limit = Math.min(BATCH, window.room, this.waiting);
    if (this.#isLooking || !this.work.mayLease() || limit <= 0) return;
    this.#isLooking = true;
    window.reserve(limit);
    const health = Math.max(0, Math.min(limit, window.roomForHealth));
    const asked = { endpoint: this.endpointId, limit, health, ordered: window.isOrdered };
    void this.source.lease(asked).then((events) => {
      this.#isLooking = false;
      window.release(limit);
      this.work.take(events);
      if (events.length > 0 || this.#mustLookAgain) this.look();
    });
  }
}
