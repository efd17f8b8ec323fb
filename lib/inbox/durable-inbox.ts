import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ChangeListeners } from '../concurrency/signals';
import { withTimeout } from '../concurrency/timers';
import type { DeadLetter, ProvenMessage } from '../message/record';
import { Arrivals, type Beside } from './arrivals';
import { Endpoints } from './endpoints';
import type { KeptInbox } from './inboxes';
import { OutageLog, ToldIncidents } from './incidents';
import {
  type Acceptance,
  type Actor,
  type Consumer,
  type Consumption,
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
import { InboxQuarantine } from './quarantine';
import { EventQueues, SettledElsewhere } from './queue/event-queues';
import { type RetentionPeriods, Tidying } from './retention';
import { Settling } from './settling';
import type { ChangedSlots, SlotOutcome, SlotWrite } from './slot';
import { SlotListeners, SlotStore } from './slots';
import type { OpenStore } from './spare/spare';
import { SPILL_REGISTER } from './spare/spare-folder';
import { Spares } from './spare/spares';
import { fileSystemWarning } from './sqlite/database';
import { StoreThread } from './sqlite/store-thread';
import { type InboxEvents, StoreHealth } from './store-health';
import {
  type AnyStore,
  isFileIncident,
  type LeaseRequest,
  type OpenReport,
  type SharedStore,
  type SharedStoreEvents,
  type StoreEvents,
  type StorePort,
} from './store/port';
import { listedOf, PatientReading, rowsOf, Stores } from './stores';
import { tallyOf } from './tally';

interface CommonOptions {
  keep: RetentionPeriods;
  /** Told what an operator should know; nothing of an event. */
  log?: (news: InboxEvents) => void;
  /** Time for the store to take a message, and to answer, in milliseconds. Default 2,000; 3,000 of one that is shared. */
  timeoutMs?: number;
  /** Between two looks at a store that fails, and at spill folders of processes that may have ended, in milliseconds. Default 5,000; 1,000 of one that is shared. */
  lookAgain?: number;
}

/** An inbox in a file of its own. */
export interface FileInboxOptions extends CommonOptions {
  /** The SQLite file. */
  file: string;
  /** Where messages go that the store cannot take; best on another disk. */
  spillFolder: string;
  /** A file outside its folder in which its last sequence is remembered: else an older copy of the folder is not noticed. */
  lastSequence?: string;
  /** The store behind it. Default: the file, in a thread of its own. */
  open?: (news: StoreEvents) => StorePort;
  /** And the store of a spare. Default: likewise. */
  openSpare?: OpenStore;
}

/** An inbox in a database that several instances of Node-RED share. */
export interface SharedInboxOptions extends CommonOptions {
  /** Opens the store behind it. */
  share: (news: SharedStoreEvents) => SharedStore;
}

export type DurableInboxOptions = FileInboxOptions | SharedInboxOptions;

/** Between two looks for slots that other instances have changed, in milliseconds. */
const POLL_EVERY = 1000;

/**
 * The durable inbox: one SQLite file in a thread of its own with spares for what it cannot take, or tables in PostgreSQL that
 * several instances share; and the queues from which events go to their consumers. After a crash each event that was not settled
 * is delivered again, under the same id.
 */
export class DurableInbox implements KeptInbox {
  readonly #store: AnyStore;
  /** The same, with what is beside it. */
  readonly #routed: AnyStore;
  readonly #shared?: SharedStore;
  readonly #beside?: Beside & { stores: Stores };
  private readonly queues: EventQueues;
  readonly #incidents: ToldIncidents;
  readonly #endpoints: Endpoints;
  readonly #watchers = new ChangeListeners();
  readonly #slotWatchers: SlotListeners;
  readonly #slots: SlotStore;
  readonly #settling: Settling;
  readonly #settledElsewhere = new SettledElsewhere();
  readonly #quarantine: InboxQuarantine;
  readonly #health: StoreHealth;
  readonly #arrivals: Arrivals;
  readonly #reading: PatientReading;
  readonly #tidying: Tidying;
  readonly #log: (news: InboxEvents) => void;
  readonly #timeoutMs: number;
  readonly #lookAgain: number;
  #closed = false;

  constructor(options: DurableInboxOptions) {
    const isShared = 'share' in options;
    this.#log = options.log ?? (() => undefined);
    this.#timeoutMs = options.timeoutMs ?? (isShared ? 3000 : 2000);
    this.#lookAgain = options.lookAgain ?? (isShared ? 1000 : 5000);
    this.#health = new StoreHealth({
      lookAgain: this.#lookAgain,
      recover: () => this.#tryToRecover(),
      changed: () => this.#healthChanged(),
      log: this.#log,
    });
    const health = this.#health;
    const queues = new EventQueues(
      () => this.#watchers.notify(),
      (line) => this.#log({ kind: 'line', line }),
    );
    this.queues = queues;
    this.#incidents = new ToldIncidents(queues, this.#log);
    if ('share' in options) this.#store = this.#shared = options.share(this.#sharedEvents());
    else this.#store = this.#opening(options);
    this.#tidying = new Tidying(this.#store, options.keep);
    this.#endpoints = new Endpoints(this.#store, queues, health);
    if (!('share' in options)) this.#beside = this.#besideOf(options, this.#store);
    this.#routed = this.#beside?.stores ?? this.#store;
    queues.connect({
      spilled: this.#beside?.spares ?? NOTHING_SPILLED,
      both: this.#routed,
      canLease: () => health.state.durable === true && this.#beside?.spares.mayHold !== true,
      isLeaseSafe: () => this.#shared?.isLeaseSafe() ?? true,
      isSettled: (deliveryId) => this.#settledElsewhere.has(deliveryId),
    });
    const timeoutMs = this.#timeoutMs;
    this.#arrivals = new Arrivals({
      store: this.#store,
      beside: this.#beside,
      queues,
      health,
      incidents: this.#incidents,
      tidying: this.#tidying,
      timeoutMs,
    });
    const hasMore = (): boolean => (this.#beside?.spares.size ?? 0) > 0;
    this.#reading = new PatientReading(this.#store, { health, hasMore, timeoutMs });
    this.#settling = new Settling(this.#routed, queues, this.#shared);
    this.#quarantine = new InboxQuarantine(this.#store, this.#reading, health);
    this.#slotWatchers = isShared
      ? new SlotListeners({
          versions: (owners) => this.#store.call('slotVersions', owners),
          every: POLL_EVERY,
        })
      : new SlotListeners();
    this.#slots = new SlotStore(this.#store, { health, watchers: this.#slotWatchers, timeoutMs });
  }

  /** Tells where the spill folder could not serve, before it has to. */
  checkSpillFolder(): void {
    const { folders } = this.#beside?.spares ?? {};
    if (folders === undefined) return;
    const { current: folder } = folders;
    const reason = folders.check();
    const warning = reason === undefined ? fileSystemWarning(folder) : undefined;
    if (reason !== undefined) this.#log({ kind: 'no-spill', folder, reason });
    else if (warning !== undefined) this.#log({ ...warning, folder });
  }

  /** Changes how long messages are kept, and where they are spilled. What was spilled elsewhere is read back all the same. */
  configure({ keep, spillFolder }: { keep: RetentionPeriods; spillFolder?: string }): void {
    this.#tidying.keep = keep;
    const { spares } = this.#beside ?? {};
    if (spares === undefined || spillFolder === undefined) return;
    spares.moveTo(spillFolder);
    if (spares.mayHold) this.#health.lookLater();
  }

  async accept(record: ProvenMessage | DeadLetter): Promise<Acceptance> {
    return this.#arrivals.accept(this.#endpoints.atPresent(record));
  }

  async list(query: ListQuery): Promise<MessageList> {
    if (this.#beside !== undefined) return this.#beside.stores.list(query, this.#reading);
    const { rows, fault } = await rowsOf(this.#reading, query);
    return { messages: await listedOf(rows, query), ...(fault && { fault }) };
  }

  /** Those that share it, oldest first. */
  async instances(): Promise<InstanceRow[]> {
    return this.#shared === undefined ? [] : this.#shared.call('instances', undefined);
  }

  state(): InboxState {
    const { state } = this.#health;
    const spilled = this.#beside?.spares.size ?? 0;
    const incident = this.#incidents.ofFile();
    const more = { ...(spilled > 0 && { spilled }), ...(incident && { incident }) };
    if (state.durable !== true || !this.queues.all().some(({ hasUnread }) => hasUnread))
      return { ...state, ...more };
    const disk = this.#shared === undefined ? 'the disk' : 'the disk of the database';
    return { durable: false, fault: `stored events cannot be read: see to ${disk}`, ...more };
  }

  async canAccept(): Promise<boolean> {
    const { durable } = this.#health.state;
    if (this.#closed || durable === undefined) return false;
    return durable || (await this.#beside?.spares.canAccept()) === true;
  }

  /** Of a shared store that does not answer, others find out what was leased here. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#arrivals.close();
    this.#tidying.close();
    this.#slotWatchers.close();
    const atRest = Promise.all([this.queues.detach(), this.#health.close()]);
    await (this.#shared === undefined ? atRest : withTimeout(atRest, this.#timeoutMs));
    await this.#beside?.spares.drained();
    await this.#store.close();
    await this.#beside?.spares.close();
    for (const queue of this.queues.all()) queue.close();
  }

  /** An instance without any consumer is none: at the end of Node-RED nothing else would tell the others. */
  consume(consumer: Consumer): Consumption {
    const { endpointId, nodeId } = consumer;
    const queue = this.queues.of(endpointId);
    queue.attach(consumer);
    this.#endpoints.claim(endpointId, nodeId);
    this.#beside?.spares.moveAlong(nodeId, endpointId);
    this.#beside?.outages.adopt(endpointId, nodeId);
    this.#shared?.takePart();
    const own = (act: () => void) => (): void => {
      if (queue.consumer === consumer) act();
    };
    return {
      pause: own(() => queue.pause()),
      resume: own(() => {
        this.#endpoints.arrived(nodeId);
        queue.resume();
        this.#beside?.outages.tellOwed(nodeId);
        this.#incidents.tellOwed();
      }),
      end: async (isForGood = false) => {
        if (queue.consumer === consumer) {
          const detached = queue.detach();
          if (isForGood) this.#endpoints.leave(nodeId);
          await detached;
        }
        if (!this.queues.all().some(({ consumer: other }) => other)) await this.#shared?.standAside();
      },
    };
  }

  /**
   * The end of an event that a flow has is told to a store that several instances share until it knows, or the inbox is closed:
   * what was done would come again else.
   */
  async settle(deliveryId: string, settlement: Settlement, actor?: Actor): Promise<boolean> {
    const isEnd = settlement.action === 'done' || settlement.action === 'reject';
    const mustBeTold = this.#shared && isEnd && this.queues.queueOf(deliveryId) !== undefined;
    for (;;) {
      try {
        return await this.#settling.settle(deliveryId, settlement, actor);
      } catch (error) {
        if (mustBeTold !== true || this.#closed) throw error;
        await pause(this.#lookAgain, undefined, { ref: false });
      }
    }
  }

  dismiss(deliveryId: string, actor?: Actor): Promise<boolean> {
    return this.#routed.call('dismiss', { deliveryId, ...namedBy(actor) });
  }

  tally(query: TallyQuery): Promise<TallyRow[]> {
    return tallyOf((page) => this.#reading.read('page', page), query);
  }

  quarantine(message: QuarantinedMessage): void {
    this.#quarantine.add(this.#endpoints.atPresent(message));
  }

  async quarantined(endpointId: string): Promise<(QuarantinedMessage & { id: number })[]> {
    // Some of them may be just coming along from another endpoint.
    await this.#endpoints.told();
    return this.#quarantine.of(endpointId);
  }

  quarantineSums(): Promise<QuarantineSum[]> {
    return this.#quarantine.sums();
  }

  async releaseUpTo(endpointId: string, lastId: number): Promise<void> {
    await this.#routed.call('releaseUpTo', { endpoint: endpointId, id: lastId });
  }

  async release(ids: readonly number[]): Promise<void> {
    await this.#routed.call('release', [...ids]);
  }

  viewKey(): Promise<Uint8Array> {
    return this.#routed.call('viewKey', undefined);
  }

  quarantineKey(): Promise<Uint8Array> {
    return this.#quarantine.key();
  }

  openByEndpoint(): Promise<Record<string, number>> {
    return this.#store.call('openByEndpoint', undefined);
  }

  figures(): Promise<InboxFigures> {
    return this.#routed.call('figures', this.queues.endpointsWaiting());
  }

  counts(): Promise<InboxCounts> {
    return this.#reading.read('counts', { newest: MOST_COUNTED });
  }

  async assign(from: string, to: string, actor?: Actor): Promise<number> {
    const waiting = await this.#endpoints.assign(from, { to, ...namedBy(actor) });
    this.#beside?.spares.assign(from, to);
    return waiting;
  }

  isKnown(station: string, messageId: string): Promise<boolean> {
    return this.#routed.call('isKnown', { station, id: messageId });
  }

  slots(owner: string, since?: number): Promise<ChangedSlots> {
    return this.#slots.slots(owner, since);
  }

  putSlots(owner: string, writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    return this.#slots.putSlots(owner, writes);
  }

  slotOwners(prefix: string): Promise<string[]> {
    return this.#slots.slotOwners(prefix);
  }

  dropSlots(owner: string): Promise<void> {
    return this.#slots.dropSlots(owner);
  }

  watchSlots(owner: string, changed: () => void): () => void {
    return this.#slots.watchSlots(owner, changed);
  }

  waiting(endpointId: string): number {
    return this.queues.waiting(endpointId);
  }

  allWaiting(): number {
    return this.queues.allWaiting();
  }

  hasConsumer(endpointId: string): boolean {
    return this.queues.hasConsumer(endpointId);
  }

  leaseOf(deliveryId: string): number | undefined {
    return this.queues.leaseOf(deliveryId);
  }

  /** Endpoints that have events waiting and no consumer. */
  abandoned(): string[] {
    return this.queues.abandoned();
  }

  watch(changed: () => void): () => void {
    return this.#watchers.add(changed);
  }

  #opening({ file, open, lastSequence }: FileInboxOptions): StorePort {
    return open?.(this.#events()) ?? new StoreThread(file, this.#events(), { last: lastSequence });
  }

  #besideOf(
    { file, spillFolder, openSpare }: FileInboxOptions,
    main: StorePort,
  ): Beside & { stores: Stores } {
    const shared = { queues: this.queues, health: this.#health, timeoutMs: this.#timeoutMs };
    const outages = new OutageLog(this.queues, this.#endpoints);
    const spares = new Spares({
      folder: spillFolder,
      register: path.join(path.dirname(file), SPILL_REGISTER),
      main,
      openStore: openSpare ?? ((spare, news) => new StoreThread(spare, news, { isSpare: true })),
      endpoints: this.#endpoints,
      outages,
      incidents: this.#incidents,
      tidying: this.#tidying,
      lookAgain: this.#lookAgain,
      log: this.#log,
      ...shared,
    });
    return { main, spares, outages, stores: new Stores(main, { spares, ...shared }) };
  }

  #events(): StoreEvents {
    return {
      onOpened: (opened) => this.#opened(opened),
      onFault: (reason) => this.#health.failed(reason),
      onWarning: (warning) => {
        if (isFileIncident(warning)) this.#incidents.befell(warning);
        else this.#log(warning);
      },
      onSlow: (batch) => this.#health.slow.measured(batch),
    };
  }

  #sharedEvents(): SharedStoreEvents {
    return {
      ...this.#events(),
      onEpochLost: () => this.queues.all().forEach((queue) => queue.leasesLost()),
      onLeaseSafe: () => this.queues.all().forEach((queue) => queue.onLeaseSafe()),
      onStirred: (endpoint) => this.queues.onNewWork(endpoint),
      onWaiting: (waiting) => {
        this.queues.waitingAre(waiting);
        this.#watchers.notify();
      },
      onSlots: (owner) => this.#slotWatchers.tell(owner),
      onWish: (deliveryId, leaseRequest) => this.#wished(deliveryId, leaseRequest),
    };
  }

  /** What the store was told at another instance, the queue that has the event is told here. */
  #wished(deliveryId: string, leaseRequest: LeaseRequest): void {
    const queue = this.queues.queueOf(deliveryId);
    if (leaseRequest === 'settled' && queue === undefined) this.#settledElsewhere.add(deliveryId);
    if (leaseRequest === 'settled') queue?.settled(deliveryId, false);
    if (leaseRequest === 'extend') queue?.extend(deliveryId);
    // A lease that cannot be ended now ends by itself.
    if (leaseRequest === 'retry') queue?.retry({ deliveryId }).catch(() => undefined);
  }

  #healthChanged(): void {
    if (this.#health.state.durable === true) {
      this.queues.storeWorks();
      this.#incidents.takes();
    } else if (this.#health.state.durable === false) void this.#beside?.spares.prepare();
    this.#watchers.notify();
  }

  #opened({ waiting, restored, lost, idsLostSince = Infinity }: OpenReport): void {
    this.#tidying.idsLost(idsLostSince);
    if (restored !== false)
      this.#incidents.befell({ kind: restored === 'anew' ? 'made-anew' : 'restored', ...lost });
    this.#endpoints.storeOpened();
    this.queues.storeOpened(waiting);
    this.#slots.storeOpened();
    this.#health.recover().catch(() => undefined);
  }

  /** True when nothing that was spilled is left. @throws RvmError STORE_FAILED */
  async #tryToRecover(): Promise<boolean> {
    const { spares, outages } = this.#beside ?? {};
    await this.#store.call('ping', undefined).catch(async (error: unknown) => {
      await spares?.keepMemory();
      throw error;
    });
    this.#endpoints.tellRest();
    if (spares === undefined || outages === undefined) return true;
    if (spares.areOpen || spares.mayHold) await spares.drain();
    if (spares.mayHold) return false;
    const count = outages.over();
    if (count > 0) this.#log({ kind: 'read-back', count });
    this.queues.storeWorks();
    return true;
  }
}

/** Nothing is kept beside a store that several instances share: what it cannot take, another instance may. */
const NOTHING_SPILLED = { lease: async () => [], waiting: () => 0 };
