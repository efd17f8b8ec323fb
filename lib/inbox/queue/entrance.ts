import type { ProvenMessage } from '../../message/record';
import type { Delivery } from '../inbox';
import type { AcceptedAnywhere } from '../store/protocol';
import type { Backlog } from './backlog';
import type { DeliveryWindow, LeaseMode } from './delivery-window';

export interface EntranceWork {
  /** False while nothing may be leased in the inbox. */
  mayLease(): boolean;
  /** False while nothing may be delivered. */
  isRunning(): boolean;
  /** It has been leased just now. */
  take(delivery: Delivery): void;
  /** Others may go. */
  look(): void;
  /** Others beside the inbox may go. */
  lookBeside(): void;
}

/** What comes in, as the queue of its endpoint has to do with it: where there is room, it is leased as it is stored. */
export class Entrance {
  constructor(
    private readonly backlog: Backlog,
    private readonly window: DeliveryWindow,
    private readonly work: EntranceWork,
  ) {}

  /** How the store should take the next event: leased at once where there is room. */
  lease(message: ProvenMessage): LeaseMode {
    const lease = this.work.mayLease() ? this.window.reserveFor(message) : 'no';
    if (lease === 'no') this.backlog.mayHoldMore();
    return lease;
  }

  /** And how what is spilled. */
  leaseBeside(message: ProvenMessage): LeaseMode {
    return this.work.isRunning() ? this.window.reserveFor(message) : 'no';
  }

  /** What became of an event that was stored. `lease` as it was asked for; undefined = it was not stored. */
  stored(message: ProvenMessage, lease: LeaseMode, accepted: AcceptedAnywhere | undefined): void {
    this.#takeAccepted(message, lease, accepted);
    if (accepted?.leased === false && accepted.outcome === 'new') {
      this.backlog.mayHoldMore();
      this.backlog.count(1);
    }
    this.work.look();
  }

  /** And of one that was stored so late that it was spilled: it waits until it is known as the same. */
  storedLate({ outcome, leased }: AcceptedAnywhere): void {
    if (outcome === 'new' && !leased) this.backlog.count(1);
  }

  /** And of one that was spilled. */
  spilled(message: ProvenMessage, lease: LeaseMode, accepted: AcceptedAnywhere | undefined): void {
    this.#takeAccepted(message, lease, accepted);
    this.work.lookBeside();
  }

  #takeAccepted(message: ProvenMessage, lease: LeaseMode, accepted: AcceptedAnywhere | undefined): void {
    if (lease !== 'no') this.window.release(1);
    if (accepted?.leased !== true) return;
    const { deliveryId, sequence, first, ended } = accepted;
    this.work.take({ deliveryId, sequence, attempt: 1, first, ended, message });
  }
}
