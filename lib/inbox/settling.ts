import { type Actor, namedBy, type Settlement } from './model';
import type { EventQueues } from './queue/event-queues';
import { type ActOn, type AnyStore, type NotedStep, type SharedStore, verdictStep } from './store/port';
import { deliveryOf, isOpenState } from './store/stored-message';

/** What a flow says of an event, told to the store, then to the queue that has it. */
export class Settling {
  /** @param shared of an event that another instance may have, that one is told what the flow wants of it */
  constructor(
    private readonly store: AnyStore,
    private readonly queues: EventQueues,
    private readonly shared: SharedStore | undefined,
  ) {}

  /** False where the store does not know the id. @throws RvmError STORE_FAILED */
  async settle(deliveryId: string, settlement: Settlement, actor?: Actor): Promise<boolean> {
    const by = namedBy(actor);
    const acting = this.#act({ deliveryId, ...by }, settlement);
    // Asked at once, it is of one transaction with the end of the event.
    const found = settlement.finding && verdictStep(settlement.finding, Date.now());
    const noting = found && this.store.call('note', { deliveryId, step: found });
    const [isKnown] = await Promise.all([acting, noting]);
    return isKnown;
  }

  async #act(act: ActOn, settlement: Settlement): Promise<boolean> {
    const { deliveryId } = act;
    if (settlement.action === 'done') return this.#finish(act, 'delivered');
    if (settlement.action === 'reject') return this.#finish(act, 'dead', settlement.note);
    if (settlement.action === 'extend') return this.#extend(act);
    await this.#retry(act);
    return (await this.store.call('stateOf', deliveryId)) !== undefined;
  }

  async #retry(act: ActOn): Promise<void> {
    const { deliveryId } = act;
    const holder = this.queues.queueOf(deliveryId);
    if (holder !== undefined) return holder.retry(act);
    const endpoint = await this.store.call('revive', act);
    if (endpoint !== undefined) return this.queues.of(endpoint).cameBack(1);
    await this.shared?.call('tellHolder', { deliveryId, wish: 'retry' });
  }

  /** That a node works on an event, and holds it for that, is no step: nobody has said so. */
  async #extend({ deliveryId, by }: ActOn): Promise<boolean> {
    const holder = this.queues.queueOf(deliveryId);
    if (holder !== undefined) holder.extend(deliveryId);
    else await this.shared?.call('tellHolder', { deliveryId, wish: 'extend' });
    const state =
      by === undefined
        ? await this.store.call('stateOf', deliveryId)
        : await this.store.call('note', {
            deliveryId,
            step: { time: Date.now(), step: 'extended', by },
            ifOpen: true,
          });
    return state !== undefined;
  }

  async #finish({ deliveryId, ...by }: ActOn, state: 'delivered' | 'dead', note?: string): Promise<boolean> {
    const step: NotedStep = {
      time: Date.now(),
      step: state === 'dead' ? 'rejected' : 'settled',
      ...by,
      ...(note !== undefined && { reason: note }),
    };
    const finished = await this.store.call('finish', { deliveryId, state, give: state === 'dead', step });
    if (finished === undefined) return false;
    const { was, endpoint, message } = finished;
    if (!isOpenState(was)) {
      // Known already, as where the answer to a first try was lost: it is held no longer.
      this.queues.queueOf(deliveryId)?.settled(deliveryId, false);
      return true;
    }
    // Not always where it is now: it may have been given to another endpoint since it was leased.
    const queue = this.queues.queueOf(deliveryId) ?? this.queues.of(endpoint);
    const last = queue.settled(deliveryId, was === 'received');
    // What the disk fails to read now, or a store that fails cannot give, the queue may still have.
    const delivery = state === 'dead' ? ((message && deliveryOf(message)) ?? last) : undefined;
    if (delivery) queue.consumer?.onDead(delivery, 'rejected', note);
    return true;
  }
}
