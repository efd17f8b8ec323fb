import type { Settlement } from './inbox';
import type { EventQueues } from './queue/event-queues';
import type { AnyStore } from './store/port';
import type { FlowWish } from './store/protocol';
import { deliveryOf, isOpenState } from './store/stored-message';

/** What a flow says of an event, told to the store, then to the queue that has it. */
export class Settling {
  /** @param tellHolder of an event that another instance may have: what the flow wants of it */
  constructor(
    private readonly store: AnyStore,
    private readonly queues: EventQueues,
    private readonly tellHolder: (deliveryId: string, wish: FlowWish) => Promise<unknown> = noOther,
  ) {}

  /** False where the store does not know the id. @throws RvmError STORE_FAILED */
  async settle(deliveryId: string, settlement: Settlement): Promise<boolean> {
    if (settlement.action === 'done') return this.#finish(deliveryId, 'delivered');
    if (settlement.action === 'reject') return this.#finish(deliveryId, 'dead', settlement.note);
    if (settlement.action === 'retry') await this.#retry(deliveryId);
    else await this.#extend(deliveryId);
    return (await this.store.call('stateOf', deliveryId)) !== undefined;
  }

  async #retry(deliveryId: string): Promise<void> {
    const holder = this.queues.holding(deliveryId);
    if (holder !== undefined) return holder.retry(deliveryId);
    const endpoint = await this.store.call('revive', deliveryId);
    if (endpoint !== undefined) return this.queues.of(endpoint).cameBack(1);
    await this.tellHolder(deliveryId, 'retry');
  }

  async #extend(deliveryId: string): Promise<void> {
    const holder = this.queues.holding(deliveryId);
    if (holder !== undefined) return holder.extend(deliveryId);
    await this.tellHolder(deliveryId, 'extend');
  }

  async #finish(deliveryId: string, state: 'delivered' | 'dead', note?: string): Promise<boolean> {
    const finished = await this.store.call('finish', { deliveryId, state, give: state === 'dead' });
    if (finished === undefined) return false;
    const { was, endpoint, message } = finished;
    if (!isOpenState(was)) {
      // Known already, as where the answer to a first try was lost: it is held no longer.
      this.queues.holding(deliveryId)?.settled(deliveryId, false);
      return true;
    }
    // Not always where it is now: it may have been given to another endpoint since it was leased.
    const queue = this.queues.holding(deliveryId) ?? this.queues.of(endpoint);
    const last = queue.settled(deliveryId, was === 'received');
    // What the disk fails to read now, or a store that fails cannot give, the queue may still have.
    const delivery = state === 'dead' ? ((message && deliveryOf(message)) ?? last) : undefined;
    if (delivery) queue.consumer?.onDead(delivery, 'rejected', note);
    return true;
  }
}

/** Of an inbox that belongs to one instance. */
async function noOther(): Promise<void> {
  // Nobody else can have it.
}
