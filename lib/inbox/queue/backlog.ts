import type { ProvenMessage } from '../../message/record';
import type { Delivery } from '../model';
import type { AnyStore, LeasedMessage } from '../store/port';
import { deliveryOf } from '../store/stored-message';
import type { DeliveryWindow, LeaseTake } from './delivery-window';

/** Where events wait that the inbox could not take. */
interface SpilledSource {
  /** Fails never. */
  lease(take: LeaseTake): Promise<LeasedMessage[]>;
  /** How many of an endpoint wait. */
  waiting(endpoint: string): number;
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

/** Events leased in one go: of the inbox, and of what waits beside it. */
const BATCH = 100;
const SPILLED_BATCH = 50;

/** The events of one endpoint that wait in the inbox: how many, and when some are to be leased. */
export class Backlog {
  /** True where the inbox may have some that can go. */
  mayHoldMore = true;
  /** True where other instances may have put some there that are not counted yet. */
  isStirred = false;
  #waiting = 0;
  /** What the inbox is asked for just now. */
  #asked: LeaseTake | undefined;
  #toldBlocked = false;

  constructor(private readonly window: DeliveryWindow) {}

  /** Events that wait for their first delivery. */
  get waiting(): number {
    return this.#waiting;
  }

  /** So many more wait, or fewer. */
  count(change: number): void {
    this.#waiting = Math.max(0, this.#waiting + change);
    if (this.#waiting === 0) this.#toldBlocked = false;
  }

  /** True while more wait than the inbox is asked for: what arrives meanwhile cannot be leased at once, and needs no place yet. */
  get isBehind(): boolean {
    return this.#asked !== undefined && this.#waiting > this.#asked.limit;
  }

  /** True where the inbox may be asked, and it makes sense. */
  get isOpen(): boolean {
    return this.mayHoldMore && this.#asked === undefined;
  }

  /**
   * What the inbox is to be asked for: more than is known to wait, for only when nothing is left is what arrives leased at once;
   * but half of the room is for what arrives meanwhile. Undefined where there is no room.
   */
  ask(): LeaseTake | undefined {
    const { capacity } = this.window;
    const limit = Math.min(BATCH, capacity, Math.max(this.#waiting, Math.ceil(capacity / 2)));
    if (limit <= 0) return undefined;
    this.mayHoldMore = false;
    this.#asked = this.window.reserve(limit);
    return this.#asked;
  }

  /** The places that were kept for it are free. False where it was not waited for any more. */
  answered(asked: LeaseTake): boolean {
    if (this.#asked !== asked) return false;
    this.#asked = undefined;
    this.window.release(asked.limit);
    return true;
  }

  /** The inbox does not answer: others may have the places that were kept for it. */
  giveUp(): void {
    if (this.#asked !== undefined && this.answered(this.#asked)) this.mayHoldMore = true;
  }

  /** True where some wait while the window is full; once until none wait any more. */
  isNewlyBlocked(): boolean {
    const { capacity, roomForHealth, isOrdered } = this.window;
    const isBlocked = isOrdered && (capacity <= 0 || roomForHealth <= 0) && this.#waiting > 0;
    if (!isBlocked || this.#toldBlocked) return false;
    this.#toldBlocked = true;
    return true;
  }
}

/** The events of one endpoint that wait beside the inbox. They share the window with those in it, and wait for none of them. */
export class SpilledBacklog {
  /** Questions whose answers may have leased something. */
  underWay = 0;
  #isAsked = false;
  #mustAskAgain = false;

  constructor(
    private readonly source: SpilledSource,
    private readonly endpointId: string,
    private readonly window: DeliveryWindow,
  ) {}

  get waiting(): number {
    return this.source.waiting(this.endpointId);
  }

  /** What is to be asked for; undefined where nothing waits, there is no room, or the answer to another question has to come first. */
  ask(): LeaseTake | undefined {
    this.#mustAskAgain = this.#isAsked;
    const limit = Math.min(SPILLED_BATCH, this.window.capacity, this.waiting);
    if (this.#isAsked || limit <= 0) return undefined;
    this.#isAsked = true;
    this.underWay += 1;
    return this.window.reserve(limit);
  }

  /** The places that were kept for it are free. True where it is to be asked again. */
  answered({ limit }: LeaseTake, leased: number): boolean {
    this.#isAsked = false;
    this.underWay -= 1;
    this.window.release(limit);
    return leased > 0 || this.#mustAskAgain;
  }
}

/** Messages remembered, and the longest body, in bytes: a megabyte for each endpoint at most. */
const REMEMBERED = 256;
const LONGEST = 4096;

/** Reads stored events. Out of the body takes longer than all else, so those that have waited for a moment only are remembered. */
export class EventReader {
  readonly #recent = new Map<string, ProvenMessage>();

  remember(deliveryId: string, message: ProvenMessage): void {
    if (message.body.byteLength > LONGEST) return;
    this.#recent.set(deliveryId, message);
    const [first] = this.#recent.size > REMEMBERED ? this.#recent.keys() : [];
    if (first !== undefined) this.#recent.delete(first);
  }

  /** Undefined where it cannot be read any more: what a damaged disk has made of an event ends no Node-RED. */
  read(event: LeasedMessage): Delivery | undefined {
    const message = this.#recent.get(event.deliveryId);
    if (message !== undefined) this.#recent.delete(event.deliveryId);
    try {
      return deliveryOf(event, message);
    } catch {
      return undefined;
    }
  }
}
