import type { AnyStore } from '../store/port';
import type { LeasedMessage } from '../store/protocol';
import type { DeliveryWindow } from './delivery-window';

export interface BacklogWork {
  /** False while nothing may be delivered, or it is not known what is leased. */
  mayLease(): boolean;
  /** They have been leased just now. */
  take(events: readonly LeasedMessage[]): void;
  /** They were leased when nobody waited for them any more. */
  tooLate(events: readonly LeasedMessage[]): void;
  /** So many wait while the window is full; told once until none wait any more. */
  isBlocked(waiting: number): void;
  /** `waiting` has changed. */
  changed(): void;
  /** Does something after a pause. */
  later(act: () => void): void;
}

/** Events fetched in one go. */
const BATCH = 100;

/** The events of one endpoint that wait in the store: how many there are, and when some of them are leased. */
export class Backlog {
  /** True where the store may have some that can go. */
  #mayHoldMore = true;
  #waiting = 0;
  /** True where other instances may have put some there that are not counted yet. */
  #isStirred = false;
  #isLooking = false;
  /** Places that are kept for what the store is just leasing. */
  #kept = 0;
  /** Counts the answers that are not waited for any more. */
  #given = 0;
  #toldBlocked = false;

  constructor(
    private readonly store: AnyStore,
    private readonly endpointId: string,
    private readonly window: DeliveryWindow,
    private readonly work: BacklogWork,
  ) {}

  /** Events that wait for their first delivery. */
  get waiting(): number {
    return this.#waiting;
  }

  /** True where some are known to wait, or may. */
  get hasAny(): boolean {
    return this.#waiting > 0 || this.#isStirred;
  }

  /** Another instance has put some there. */
  stir(): void {
    this.#isStirred = true;
    this.lookAnew();
  }

  /** So many wait, as just counted. */
  countIs(waiting: number): void {
    this.#isStirred = false;
    this.count(waiting - this.#waiting);
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

  /** The store does not answer: others may have the places that were kept for it. */
  letGo(): void {
    if (!this.#isLooking) return;
    this.#given += 1;
    this.#answered();
    this.#mayHoldMore = true;
  }

  /**
   * Leases what waits, as far as there is room: more than is known to wait, for only when nothing is left is what arrives
   * leased at once; but half of the room is for what arrives meanwhile.
   */
  look(): void {
    if (!this.work.mayLease() || !this.#mayHoldMore || this.#isLooking) return;
    const { window } = this;
    const limit = Math.min(BATCH, window.room, Math.max(this.#waiting, Math.ceil(window.room / 2)));
    if (limit <= 0) return this.#tellBlocked();
    this.#isLooking = true;
    this.#kept = limit;
    window.reserve(limit);
    this.#mayHoldMore = false;
    const health = Math.max(0, Math.min(limit, window.roomForHealth));
    const asked = { endpoint: this.endpointId, limit, health, ordered: window.isOrdered };
    const given = this.#given;
    this.store.call('lease', asked).then(
      (events) => {
        this.count(-events.length);
        if (given !== this.#given) return this.work.tooLate(events);
        // In one step with what comes in: in between, the places that are kept would be free.
        this.#answered();
        this.work.take(events);
        if (events.length === limit) this.#mayHoldMore = true;
        this.look();
        if (health === 0) this.#tellBlocked();
      },
      () => {
        if (given !== this.#given) return;
        this.#answered();
        this.#mayHoldMore = true;
        this.work.later(() => this.look());
      },
    );
  }

  #answered(): void {
    this.#isLooking = false;
    this.window.release(this.#kept);
    this.#kept = 0;
  }

  #tellBlocked(): void {
    const { window } = this;
    const isFull = window.room <= 0 || window.roomForHealth <= 0;
    if (!isFull || !window.isOrdered || this.#waiting === 0 || this.#toldBlocked) return;
    this.#toldBlocked = true;
    this.work.isBlocked(this.#waiting);
  }
}
