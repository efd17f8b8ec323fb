import type { StorePort } from '../store/port';
import type { StoredMessage } from '../store/protocol';
import type { DeliveryWindow } from './delivery-window';

export interface BacklogWork {
  /** False while nothing may be delivered, or it is not known what is leased. */
  mayLease(): boolean;
  /** They have been leased just now. */
  take(events: readonly StoredMessage[]): void;
  /** So many wait while the window is full; told once until none wait any more. */
  isBlocked(waiting: number): void;
  /** `waiting` has changed. */
  changed(): void;
  /** Does something after a pause. */
  later(act: () => void): void;
}

/** Events fetched in one go. */
const BATCH = 50;

/** The events of one endpoint that wait in the store: how many there are, and when some of them are leased. */
export class Backlog {
  /** True where the store may have some that can go. */
  #mayHoldMore = true;
  #waiting = 0;
  #isLooking = false;
  #toldBlocked = false;

  constructor(
    private readonly store: StorePort,
    private readonly endpointId: string,
    private readonly window: DeliveryWindow,
    private readonly work: BacklogWork,
  ) {}

  /** Events that wait for their first delivery. */
  get waiting(): number {
    return this.#waiting;
  }

  /** So many more wait, or fewer. */
  count(change: number): void {
    if (change === 0) return;
    this.#waiting = Math.max(0, this.#waiting + change);
    if (this.#waiting === 0) this.#toldBlocked = false;
    this.work.changed();
  }

  /** The store may have some that can go now: at the next look it is asked. */
  mayHoldMore(): void {
    this.#mayHoldMore = true;
  }

  /** Looks although the last look has found nothing. */
  lookAnew(): void {
    this.#mayHoldMore = true;
    this.look();
  }

  /** Leases what waits, as far as there is room. */
  look(): void {
    if (!this.work.mayLease() || !this.#mayHoldMore || this.#isLooking) return;
    const { window } = this;
    // No more places than there are events, or those that arrive meanwhile would find none.
    const limit = Math.min(BATCH, window.room, this.#waiting || BATCH);
    if (limit <= 0) return this.#tellBlocked();
    this.#isLooking = true;
    window.reserve(limit);
    this.#mayHoldMore = false;
    const health = Math.max(0, Math.min(limit, window.roomForHealth));
    const asked = { endpoint: this.endpointId, limit, health, ordered: window.isOrdered };
    // In one step with what comes in: in between, the places that are kept would be free.
    const answered = (): void => {
      this.#isLooking = false;
      window.release(limit);
    };
    this.store.call('lease', asked).then(
      (events) => {
        answered();
        this.count(-events.length);
        this.work.take(events);
        if (events.length === limit) this.#mayHoldMore = true;
        this.look();
        if (health === 0) this.#tellBlocked();
      },
      () => {
        answered();
        this.#mayHoldMore = true;
        this.work.later(() => this.look());
      },
    );
  }

  #tellBlocked(): void {
    const { window } = this;
    const isFull = window.room <= 0 || window.roomForHealth <= 0;
    if (!isFull || !window.isOrdered || this.#waiting === 0 || this.#toldBlocked) return;
    this.#toldBlocked = true;
    this.work.isBlocked(this.#waiting);
  }
}
