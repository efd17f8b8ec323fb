import type { AnyStore } from '../store/port';
import type { SpilledSource } from './spilled-backlog';

/** Where a queue has its events. */
export interface QueueStores {
  /** What waits beside it. */
  spilled: SpilledSource;
  /** Both: asked of an event where it is. */
  both: AnyStore;
  /** False while the inbox cannot store, and until all that is spilled has entered it: nothing of it can be leased. */
  canLease: () => boolean;
  /** False while this instance might be taken for dead by others: nothing that is leased goes to a flow. Always true of one alone. */
  mayHandOver: () => boolean;
  /** True of an event that another instance has settled, which is told before it is known here that it is leased. */
  isSettled: (deliveryId: string) => boolean;
}
