import type { ChangeListeners } from '../concurrency/signals';
import type { DeadLetter, ProvenMessage } from '../message/record';
import type { Endpoints } from './endpoints';
import type { EventQueues } from './queue/event-queues';
import {
  type Acceptance,
  type Actor,
  type Consumer,
  type Consumption,
  type Inbox,
  type InboxCounts,
  type InboxFigures,
  type InboxState,
  type InstanceRow,
  type ListQuery,
  type MessageList,
  MOST_COUNTED,
  namedBy,
  type QuarantinedMessage,
  type QuarantineSum,
  type Settlement,
  type TallyQuery,
  type TallyRow,
} from './model';
import type { ChangedSlots, SlotOutcome, SlotWrite } from './slot';
import type { SlotStore } from './slots';
import type { PatientReading } from './reading';
import { type ActOn, type AnyStore, type FlowLeaseRequest, type NotedStep, verdictStep } from './store/port';
import { deliveryOf, isOpenState, messageOfRow, quarantinedRow, quarantineSum } from './store/stored-message';
import { tallyOf } from './tally';

/** What a flow says of an event, told to the store, then to the queue that has it. */
export class Settling {
  /** @param tellHolder of an event that another instance may have: what the flow wants of it */
  constructor(
    private readonly store: AnyStore,
    private readonly queues: EventQueues,
    private readonly tellHolder: (
      deliveryId: string,
      leaseRequest: FlowLeaseRequest,
    ) => Promise<unknown> = noOther,
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
    await this.tellHolder(deliveryId, 'retry');
  }

  /** That a node works on an event, and holds it for that, is no step: nobody has said so. */
  async #extend({ deliveryId, by }: ActOn): Promise<boolean> {
    const holder = this.queues.queueOf(deliveryId);
    if (holder !== undefined) holder.extend(deliveryId);
    else await this.tellHolder(deliveryId, 'extend');
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

/** Of an inbox that belongs to one instance. */
async function noOther(): Promise<void> {
  // Nobody else can have it.
}

/** Bytes of bodies on their way into the store at which no more go there: as many as it keeps. */
const MOST_BYTES = 16 * 1024 * 1024;

/** The messages that nothing proved, in the store. */
export class InboxQuarantine {
  #key: Promise<Uint8Array> | undefined;
  #bytes = 0;

  constructor(
    private readonly store: AnyStore,
    private readonly reading: PatientReading,
    private readonly state: () => InboxState,
  ) {}

  add(message: QuarantinedMessage): void {
    // What waits for a store that hangs must have a bound, also as long as nobody knows that it does.
    const size = message.body.byteLength;
    if (this.state().durable === false || this.#bytes + size > MOST_BYTES) return;
    this.#bytes += size;
    this.store
      .call('quarantine', quarantinedRow(message))
      .catch(() => undefined)
      .finally(() => (this.#bytes -= size));
  }

  /** Those of an endpoint. @throws RvmError STORE_FAILED */
  async of(endpointId: string): Promise<(QuarantinedMessage & { id: number })[]> {
    return (await this.store.call('quarantined', endpointId)).map(messageOfRow);
  }

  /** @throws RvmError STORE_FAILED */
  async sums(): Promise<QuarantineSum[]> {
    return (await this.reading.read('quarantinedSums', undefined)).map(quarantineSum);
  }

  /** Read once. @throws RvmError STORE_FAILED */
  key(): Promise<Uint8Array> {
    this.#key ??= this.store.call('quarantineKey', undefined).catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }
}

/** What an inbox consists of, whichever store is behind it. */
export interface InboxParts {
  store: AnyStore;
  queues: EventQueues;
  endpoints: Endpoints;
  settling: Settling;
  quarantine: InboxQuarantine;
  reading: PatientReading;
  slots: SlotStore;
  watchers: ChangeListeners;
}

/** An inbox as far as all stores have it in common: each question goes to the part that answers it. */
export abstract class StoreInbox implements Inbox {
  protected abstract readonly parts: InboxParts;

  abstract accept(record: ProvenMessage | DeadLetter): Promise<Acceptance>;
  abstract list(query: ListQuery): Promise<MessageList>;
  abstract instances(): Promise<InstanceRow[]>;
  abstract state(): InboxState;
  abstract canAccept(): Promise<boolean>;
  abstract close(): Promise<void>;

  consume(consumer: Consumer): Consumption {
    const { queues, endpoints } = this.parts;
    const { endpointId, nodeId } = consumer;
    const queue = queues.of(endpointId);
    queue.attach(consumer);
    endpoints.claim(endpointId, nodeId);
    const own = (act: () => void) => (): void => {
      if (queue.consumer === consumer) act();
    };
    return {
      pause: own(() => queue.pause()),
      resume: own(() => {
        endpoints.arrived(nodeId);
        queue.resume();
        this.resumed(nodeId);
      }),
      end: async (isForGood = false) => {
        if (queue.consumer !== consumer) return;
        const detached = queue.detach();
        if (isForGood) endpoints.leave(nodeId);
        await detached;
      },
    };
  }

  settle(deliveryId: string, settlement: Settlement, actor?: Actor): Promise<boolean> {
    return this.parts.settling.settle(deliveryId, settlement, actor);
  }

  dismiss(deliveryId: string, actor?: Actor): Promise<boolean> {
    return this.parts.store.call('dismiss', { deliveryId, ...namedBy(actor) });
  }

  tally(query: TallyQuery): Promise<TallyRow[]> {
    return tallyOf((page) => this.parts.reading.read('page', page), query);
  }

  quarantine(message: QuarantinedMessage): void {
    this.parts.quarantine.add(this.parts.endpoints.atPresent(message));
  }

  async quarantined(endpointId: string): Promise<(QuarantinedMessage & { id: number })[]> {
    // Some of them may be just coming along from another endpoint.
    await this.parts.endpoints.told();
    return this.parts.quarantine.of(endpointId);
  }

  quarantineSums(): Promise<QuarantineSum[]> {
    return this.parts.quarantine.sums();
  }

  async releaseUpTo(endpointId: string, lastId: number): Promise<void> {
    await this.parts.store.call('releaseUpTo', { endpoint: endpointId, id: lastId });
  }

  async release(ids: readonly number[]): Promise<void> {
    await this.parts.store.call('release', [...ids]);
  }

  viewKey(): Promise<Uint8Array> {
    return this.parts.store.call('viewKey', undefined);
  }

  quarantineKey(): Promise<Uint8Array> {
    return this.parts.quarantine.key();
  }

  openByEndpoint(): Promise<Record<string, number>> {
    return this.parts.endpoints.open();
  }

  figures(): Promise<InboxFigures> {
    return this.parts.store.call('figures', this.parts.queues.endpointsWaiting());
  }

  counts(): Promise<InboxCounts> {
    return this.parts.reading.read('counts', { newest: MOST_COUNTED });
  }

  assign(from: string, to: string, actor?: Actor): Promise<number> {
    return this.parts.endpoints.assign(from, { to, ...namedBy(actor) });
  }

  isKnown(station: string, messageId: string): Promise<boolean> {
    return this.parts.store.call('isKnown', { station, id: messageId });
  }

  slots(owner: string, since?: number): Promise<ChangedSlots> {
    return this.parts.slots.slots(owner, since);
  }

  putSlots(owner: string, writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    return this.parts.slots.putSlots(owner, writes);
  }

  slotOwners(prefix: string): Promise<string[]> {
    return this.parts.slots.slotOwners(prefix);
  }

  dropSlots(owner: string): Promise<void> {
    return this.parts.slots.dropSlots(owner);
  }

  watchSlots(owner: string, changed: () => void): () => void {
    return this.parts.slots.watchSlots(owner, changed);
  }

  waiting(endpointId: string): number {
    return this.parts.queues.waiting(endpointId);
  }

  allWaiting(): number {
    return this.parts.queues.allWaiting();
  }

  hasConsumer(endpointId: string): boolean {
    return this.parts.queues.hasConsumer(endpointId);
  }

  leaseOf(deliveryId: string): number | undefined {
    return this.parts.queues.leaseOf(deliveryId);
  }

  /** Endpoints that have events waiting and no consumer. */
  abandoned(): string[] {
    return this.parts.queues.abandoned();
  }

  watch(changed: () => void): () => void {
    return this.parts.watchers.add(changed);
  }

  /** The consumer of a webhook node can be told again. */
  protected resumed(_nodeId: string): void {
    // Nothing is owed to it.
  }
}
