import type { StorePort } from '../store/port';
import type { SpilledSource } from './spilled-backlog';

/** Where a queue has its events. */
export interface QueueStores {
  /** The inbox. */
  main: StorePort;
  /** What waits beside it. */
  spilled: SpilledSource;
  /** Both: asked of an event where it is. */
  both: StorePort;
  /** False while the inbox cannot store, and until all that is spilled has entered it: nothing of it can be leased. */
  canLease: () => boolean;
}
