import type { AnyStore, LeasedMessage, ReturnedLeases, StoreCalls } from '../store/port';
import type { DeliveryWindow } from './delivery-window';

/** Where events wait that the inbox could not take. */
export interface SpilledSource {
  /** Fails never. */
  lease(take: StoreCalls['lease']['take']): Promise<LeasedMessage[]>;
  /** How many of an endpoint wait. */
  waiting(endpoint: string): number;
}

interface SpilledBacklogWork {
  mayLease(): boolean;
  /** They have been leased just now. */
  take(events: readonly LeasedMessage[]): void;
}

/** Events leased in one go. */
const SPILLED_BATCH = 50;

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
    const limit = Math.min(SPILLED_BATCH, window.capacity, this.waiting);
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

interface BacklogWork {
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
    const limit = Math.min(BATCH, window.capacity, Math.max(this.#waiting, Math.ceil(window.capacity / 2)));
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
    const isFull = window.capacity <= 0 || window.roomForHealth <= 0;
    if (!isFull || !window.isOrdered || this.#waiting === 0 || this.#toldBlocked) return;
    this.#toldBlocked = true;
    this.work.isBlocked(this.#waiting);
  }
}

interface ReturnsWork {
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
      this.work.later(() => this.reconcileLeases());
    }
  }

  /**
   * Gives back what the store has leased and nobody holds. Nobody knows what a store that failed has done of what it was asked
   * last: the answer may be lost, and the lease on the disk.
   */
  reconcileLeases(): void {
    this.store.call('leased', this.endpointId).then(
      (leased) => {
        const lost = leased.filter((id) => !this.work.isHeld(id) && !this.#underWay.has(id));
        const unsent = lost.filter((id) => this.#unsent.has(id));
        const cutOff = lost.filter((id) => !this.#unsent.has(id));
        for (const id of this.#unsent) if (!this.#underWay.has(id)) this.#unsent.delete(id);
        if (lost.length > 0) void this.#give({ unsent, cutOff }, (count) => this.#known(count));
        else this.#known(0);
      },
      () => this.work.later(() => this.reconcileLeases()),
    );
  }

  #known(returned: number): void {
    this.#isUnsure = false;
    this.work.returned(returned);
  }
}

/** Where a queue has its events. */
export interface QueueStores {
  /** What waits beside it. */
  spilled: SpilledSource;
  /** Both: asked of an event where it is. */
  both: AnyStore;
  /** False while the inbox cannot store, and until all that is spilled has entered it: nothing of it can be leased. */
  canLease: () => boolean;
  /** False while this instance might be taken for dead by others: nothing that is leased goes to a flow. Always true of one alone. */
  isLeaseSafe: () => boolean;
  /** True of an event that another instance has settled, which is told before it is known here that it is leased. */
  isSettled: (deliveryId: string) => boolean;
}
