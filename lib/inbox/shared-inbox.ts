import { setTimeout as pause } from 'node:timers/promises';
import { ChangeListeners } from '../concurrency/signals';
import { withTimeout } from '../concurrency/timers';
import type { DeadLetter, ProvenMessage } from '../message/record';
import { Endpoints } from './endpoints';
import { EventQueues, SettledElsewhere } from './queue/event-queues';
import { enter } from './durable-inbox';
import type {
  Acceptance,
  Consumer,
  Consumption,
  InboxState,
  InstanceRow,
  ListQuery,
  MessageList,
  Settlement,
  Actor,
} from './model';
import { StoreHealth, type InboxEvents } from './store-health';
import { listedOf, rowsOf, PatientReading } from './reading';
import type { Keeping, KeptInbox } from './inboxes';
import { SlotStore, SlotListeners } from './slots';
import { InboxQuarantine, Settling, StoreInbox, type InboxParts } from './store-inbox';
import { Tidying, type RetentionPeriods } from './retention';
import type { SpilledSource } from './queue/backlog';
import {
  reasonOf,
  storeFailed,
  type SharedStore,
  type SharedStoreEvents,
  type OpenReport,
  type LeaseRequest,
} from './store/port';
import { newMessage } from './store/stored-message';

/** In milliseconds. */
const PATIENCE = 3000;
const LOOK_AGAIN = 1000;
/** Between two looks for slots that others have changed. */
const POLL_EVERY = 1000;

export interface SharedInboxOptions {
  /** Opens the store behind it. */
  open: (news: SharedStoreEvents) => SharedStore;
  keep: RetentionPeriods;
  /** Told what an operator should know; nothing of an event. */
  log?: (news: InboxEvents) => void;
  /** Time for the store to take a message, and to answer what somebody wants to see, in milliseconds. Default 3,000. */
  timeoutMs?: number;
  /** Between two looks at a store that fails, in milliseconds. Default 1,000. */
  lookAgain?: number;
}

/** Nothing is kept beside a store that several instances share: what it cannot take, another instance may. */
const NOTHING_SPILLED: SpilledSource = { lease: async () => [], waiting: () => 0 };

/**
 * An inbox that several instances of Node-RED share: the store behind it keeps them apart, and each has queues of its own, from
 * which events go to its consumers. What the store does not take in time is refused: its sender comes again, perhaps to another
 * instance.
 */
export class SharedInbox extends StoreInbox implements KeptInbox {
  protected readonly parts: InboxParts;
  readonly #store: SharedStore;
  readonly #queues: EventQueues;
  readonly #endpoints: Endpoints;
  readonly #watchers = new ChangeListeners();
  readonly #slotWatchers: SlotListeners;
  readonly #settledElsewhere = new SettledElsewhere();
  readonly #health: StoreHealth;
  readonly #reading: PatientReading;
  readonly #tidying: Tidying;
  readonly #timeoutMs: number;
  readonly #lookAgain: number;
  #closed = false;

  constructor({
    open,
    keep,
    log = () => undefined,
    timeoutMs = PATIENCE,
    lookAgain = LOOK_AGAIN,
  }: SharedInboxOptions) {
    super();
    this.#timeoutMs = timeoutMs;
    this.#lookAgain = lookAgain;
    this.#health = new StoreHealth({
      lookAgain,
      recover: () => this.#recover(),
      changed: () => this.#healthChanged(),
      log,
    });
    this.#store = open(this.#news(log));
    this.#queues = this.#queuesOf((line) => log({ kind: 'line', line }));
    this.#endpoints = new Endpoints(this.#store, this.#queues, {
      lookAgain: () => this.#health.lookLater(),
    });
    this.#slotWatchers = new SlotListeners({
      versions: (owners) => this.#store.call('slotVersions', owners),
      every: POLL_EVERY,
    });
    const state = (): InboxState => this.#health.state;
    this.#reading = new PatientReading(this.#store, { state, hasMore: () => false, timeoutMs });
    this.#tidying = new Tidying(this.#store, keep);
    this.parts = {
      store: this.#store,
      queues: this.#queues,
      endpoints: this.#endpoints,
      settling: new Settling(this.#store, this.#queues, (deliveryId, leaseRequest) =>
        this.#store.call('tellHolder', { deliveryId, wish: leaseRequest }),
      ),
      quarantine: new InboxQuarantine(this.#store, this.#reading, state),
      reading: this.#reading,
      slots: new SlotStore(this.#store, { state, watchers: this.#slotWatchers, timeoutMs }),
      watchers: this.#watchers,
    };
  }

  /** Changes how long messages are kept. */
  configure({ keep }: Pick<Keeping, 'keep'>): void {
    this.#tidying.keep = keep;
  }

  /** A message that the store takes after all, too late for its sender, goes to the flow all the same: its resend is a repeat. */
  async accept(arrived: ProvenMessage | DeadLetter): Promise<Acceptance> {
    const record = this.#endpoints.atPresent(arrived);
    if (this.#closed) throw storeFailed('it is closed');
    const begun = performance.now();
    const { storing } = enter(this.parts, record, newMessage(record));
    const accepted = await withTimeout(storing, this.#timeoutMs).catch((error: unknown) =>
      this.#failed(error),
    );
    if (accepted === undefined) {
      this.#health.tooSlow();
      storing.then(
        () => this.#health.slow.answered(performance.now() - begun),
        () => undefined,
      );
      throw storeFailed(this.#health.state.fault ?? 'it is not open yet');
    }
    this.#health.works();
    return { outcome: accepted.outcome, deliveryId: accepted.deliveryId };
  }

  /** An instance without any consumer is none: at the end of Node-RED nothing else would tell the others. */
  override consume(consumer: Consumer): Consumption {
    const consumption = super.consume(consumer);
    this.#store.takePart();
    const end: Consumption['end'] = async (isForGood) => {
      await consumption.end(isForGood);
      if (!this.#queues.haveConsumers) await this.#store.standAside();
    };
    return { ...consumption, end };
  }

  /**
   * The end of an event that a flow of this instance has is told to a store that fails until it knows, or the inbox is closed:
   * what was done would come again else.
   */
  override async settle(deliveryId: string, settlement: Settlement, actor?: Actor): Promise<boolean> {
    const isEnd = settlement.action === 'done' || settlement.action === 'reject';
    const mustBeTold = isEnd && this.#queues.queueOf(deliveryId) !== undefined;
    for (;;) {
      try {
        return await super.settle(deliveryId, settlement, actor);
      } catch (error) {
        if (!mustBeTold || this.#closed) throw error;
        await pause(this.#lookAgain, undefined, { ref: false });
      }
    }
  }

  async list(query: ListQuery): Promise<MessageList> {
    const { rows, fault } = await rowsOf(this.#reading, query);
    return { messages: await listedOf(rows, query), ...(fault && { fault }) };
  }

  instances(): Promise<InstanceRow[]> {
    return this.#store.call('instances', undefined);
  }

  state(): InboxState {
    const { state } = this.#health;
    if (state.durable !== true || !this.#queues.hasUnread) return state;
    return { durable: false, fault: 'stored events cannot be read: see to the disk of the database' };
  }

  async canAccept(): Promise<boolean> {
    return !this.#closed && this.#health.state.durable === true;
  }

  /** Of a store that does not answer, others find out what was leased here. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#tidying.close();
    this.#slotWatchers.close();
    await withTimeout(Promise.all([this.#queues.detach(), this.#health.close()]), this.#timeoutMs);
    await this.#store.close();
    this.#queues.close();
  }

  #queuesOf(log: (line: string) => void): EventQueues {
    const stores = {
      spilled: NOTHING_SPILLED,
      both: this.#store,
      canLease: () => this.#health.state.durable === true,
      isLeaseSafe: () => this.#store.isLeaseSafe(),
      isSettled: (deliveryId: string) => this.#settledElsewhere.has(deliveryId),
    };
    return new EventQueues(stores, () => this.#watchers.notify(), log);
  }

  #news(log: (news: InboxEvents) => void): SharedStoreEvents {
    return {
      onOpened: (opened) => this.#opened(opened),
      onFault: (reason) => this.#health.failed(reason),
      onWarning: (warning) => log(warning),
      onSlow: (batch) => this.#health.slow.measured(batch),
      onEpochLost: () => this.#queues.leasesLost(),
      onLeaseSafe: () => this.#queues.onLeaseSafe(),
      onStirred: (endpoint) => this.#queues.onNewWork(endpoint),
      onWaiting: (waiting) => this.#waitingAre(waiting),
      onSlots: (owner) => this.#slotWatchers.tell(owner),
      onWish: (deliveryId, leaseRequest) => this.#wished(deliveryId, leaseRequest),
    };
  }

  #opened({ waiting }: OpenReport): void {
    this.#endpoints.storeOpened();
    this.#queues.storeOpened(waiting);
    this.parts.slots.storeOpened();
    this.#health.recover().catch(() => undefined);
  }

  #waitingAre(waiting: Record<string, number>): void {
    this.#queues.waitingAre(waiting);
    this.#watchers.notify();
  }

  /** What the store was told at another instance, the queue that has the event is told here. */
  #wished(deliveryId: string, leaseRequest: LeaseRequest): void {
    const queue = this.#queues.queueOf(deliveryId);
    if (leaseRequest === 'settled' && queue === undefined) this.#settledElsewhere.add(deliveryId);
    if (leaseRequest === 'settled') queue?.settled(deliveryId, false);
    if (leaseRequest === 'extend') queue?.extend(deliveryId);
    // A lease that cannot be ended now ends by itself.
    if (leaseRequest === 'retry') queue?.retry({ deliveryId }).catch(() => undefined);
  }

  #healthChanged(): void {
    if (this.#health.state.durable === true) this.#queues.storeWorks();
    this.#watchers.notify();
  }

  /** @throws RvmError STORE_FAILED */
  async #recover(): Promise<true> {
    await this.#store.call('ping', undefined);
    this.#endpoints.tellRest();
    return true;
  }

  #failed(error: unknown): never {
    if (!this.#closed) this.#health.failed(reasonOf(error));
    throw error;
  }
}
