import type { ChangeListeners } from '../concurrency/signals';
import type { Endpoints } from './endpoints';
import { namedBy, type Actor } from './history';
import type {
  Acceptance,
  Consumer,
  Consumption,
  Inbox,
  InboxState,
  InstanceRow,
  ListQuery,
  MessageList,
  QuarantinedMessage,
  QuarantineSum,
  Settlement,
} from './inbox';
import { MOST_COUNTED, type InboxCounts, type InboxFigures } from './inbox-figures';
import type { DeadLetter, ProvenMessage } from '../message/record';
import type { InboxQuarantine } from './quarantine';
import type { EventQueues } from './queue/event-queues';
import type { SlotStore } from './kept-slots';
import type { Settling } from './settling';
import type { ChangedSlots, SlotOutcome, SlotWrite } from './slot';
import type { PatientReading } from './patient-reading';
import type { AnyStore } from './store/port';
import { tallyOf } from './tally';
import type { TallyQuery, TallyRow } from './tally-rows';

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
  abstract wouldKeep(): Promise<boolean>;
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
