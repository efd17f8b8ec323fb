import type { Settlement } from './inbox';
import type { EventQueues } from './queue/event-queues';
import type { StorePort } from './store/port';
import { deliveryOf } from './store/stored-message';

/** What a flow says of an event, told to the store, then to the queue that has it. */
export class Settling {
  constructor(
    private readonly store: StorePort,
    private readonly queues: EventQueues,
  ) {}

  /** False where the store does not know the id. @throws RvmError STORE_FAILED */
  async settle(deliveryId: string, settlement: Settlement): Promise<boolean> {
    if (settlement.action === 'done') return this.#finish(deliveryId, 'delivered');
    if (settlement.action === 'reject') return this.#finish(deliveryId, 'dead', settlement.note);
    if (settlement.action === 'retry') await this.#retry(deliveryId);
    else this.queues.holding(deliveryId)?.extend(deliveryId);
    return (await this.store.call('stateOf', deliveryId)) !== undefined;
  }

  async #retry(deliveryId: string): Promise<void> {
    const holder = this.queues.holding(deliveryId);
    if (holder !== undefined) return holder.retry(deliveryId);
    const endpoint = await this.store.call('revive', deliveryId);
    if (endpoint !== undefined) this.queues.of(endpoint).revived();
  }

  async #finish(deliveryId: string, state: 'delivered' | 'dead', note?: string): Promise<boolean> {
    const finished = await this.store.call('finish', { deliveryId, state, give: state === 'dead' });
    if (finished === undefined) return false;
    const { was, endpoint, message } = finished;
    if (was !== 'received' && was !== 'leased') return true;
    const queue = this.queues.of(endpoint);
    const last = queue.settled(deliveryId, was === 'received');
    // What the disk fails to read now, or a store that fails cannot give, the queue may still have.
    const delivery = state === 'dead' ? ((message && deliveryOf(message)) ?? last) : undefined;
    if (delivery) queue.consumer?.onDead(delivery, 'rejected', note);
    return true;
  }
}
