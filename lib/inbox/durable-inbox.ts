import path from 'node:path';
import type { Acceptance, InboxState, InstanceRow, ListQuery, MessageList } from './inbox';
import type { DeadLetter, ProvenMessage } from '../message/record';
import { ChangeListeners } from '../concurrency/signals';
import { plural } from '../text';
import { Arrivals } from './arrivals';
import { Endpoints } from './endpoints';
import { EventQueues } from './queue/event-queues';
import type { FileIncident } from './incident';
import { ToldIncidents } from './told-incidents';
import { Listing } from './spill/listing';
import { SlotStore } from './kept-slots';
import { PatientReading } from './patient-reading';
import { InboxQuarantine } from './quarantine';
import { Settling } from './settling';
import { SlotListeners } from './slot-watchers';
import { BothStores } from './spill/both-stores';
import { Bringing } from './spill/bringing';
import { OutageLog } from './spill/spells';
import { SPILL_REGISTER } from './spill/spill-register';
import { Spilling } from './spill/spilling';
import { StoreInbox, type InboxParts } from './store-inbox';
import { StoreHealth, type InboxEvents } from './store-health';
import { fileSystemWarning } from './file-system';
import type { OpenReport, StoreWarning } from './store/protocol';
import { StoreThread } from './sqlite/store-thread';
import type { StoreEvents, StorePort } from './store/port';
import { Tidying, type RetentionPeriods } from './tidying';

/** In milliseconds. */
const LOOK_AGAIN = 5000;

export interface DurableInboxOptions {
  /** The SQLite file. */
  file: string;
  /** Where messages go that the store cannot take; best on another disk. */
  spillFolder: string;
  keep: RetentionPeriods;
  /** A file outside its folder in which its last sequence is remembered: else an older copy of the folder is not noticed. */
  lastSequence?: string;
  /** Told what an operator should know; nothing of an event. */
  log?: (news: InboxEvents) => void;
  /** Time for the store to take a message before it is spilled, in milliseconds. Default 2,000. */
  spillAfter?: number;
  /** Between two looks at a store that fails, and at spill folders of processes that may have ended, in milliseconds. Default 5,000. */
  lookAgain?: number;
  /** The store behind it. Default: the file, in a thread of its own. */
  open?: (news: StoreEvents) => StorePort;
}

/**
 * The durable inbox: one SQLite file in a thread of its own, files for what it cannot take, and the queues from which events go
 * to their consumers. After a crash each event that was not settled is delivered again, under the same id.
 */
export class DurableInbox extends StoreInbox {
  protected readonly parts: InboxParts;
  readonly #store: StorePort;
  readonly #both: BothStores;
  readonly #spilling: Spilling;
  readonly #spells: OutageLog;
  readonly #bringing: Bringing;
  readonly #queues: EventQueues;
  readonly #incidents: ToldIncidents;
  readonly #endpoints: Endpoints;
  readonly #watchers = new ChangeListeners();
  readonly #slotWatchers = new SlotListeners();
  readonly #log: (news: InboxEvents) => void;
  readonly #health: StoreHealth;
  readonly #arrivals: Arrivals;
  readonly #reading: PatientReading;
  readonly #listing: Listing;
  readonly #tidying: Tidying;
  #closed = false;
  /** When ids were lost with a part of the file, as `performance.now()` has it. */
  #idsLostAt = -Infinity;

  constructor(options: DurableInboxOptions) {
    super();
    this.#log = options.log ?? (() => undefined);
    const spillAfter = options.spillAfter ?? 2000;
    this.#health = new StoreHealth({
      lookAgain: options.lookAgain ?? LOOK_AGAIN,
      recover: () => this.#tryToRecover(),
      changed: () => this.#healthChanged(),
      log: this.#log,
    });
    this.#spilling = this.#spillingOf(options, spillAfter);
    this.#store = this.#open(options);
    this.#both = new BothStores(this.#store, {
      spilling: this.#spilling,
      endpointOf: (deliveryId) => this.#queues.holding(deliveryId)?.endpointId,
      onKept: () => this.#health.lookLater(),
      patience: spillAfter,
    });
    this.#queues = this.#queuesOf();
    this.#incidents = new ToldIncidents(this.#queues);
    this.#endpoints = new Endpoints(this.#store, this.#queues, {
      lookAgain: () => this.#health.lookLater(),
      moved: (node, endpoint) => {
        this.#spilling.moveAlong(node, endpoint);
        this.#spells.adopt(endpoint, node);
      },
      assigned: (from, to) => this.#spilling.assign(from, to),
    });
    this.#spells = new OutageLog(
      (node) => this.#queues.of(this.#endpoints.endpointOf(node) ?? node).reachable,
    );
    this.#bringing = new Bringing(this.#store, this.#spilling, {
      patience: spillAfter,
      counts: (endpointId, change) => this.#queues.of(endpointId).count(change),
      entered: (nodeId) => this.#spells.entered(nodeId),
      refused: (count) =>
        this.#log({
          kind: 'line',
          line: `The inbox does not take ${plural(count, 'message')} of the spill folder: what it does not take stays there, and is offered to it again. See to the room on its disk.`,
        }),
      lookAgain: () => this.#health.lookLater(),
    });
    this.#arrivals = new Arrivals({
      store: this.#store,
      queues: this.#queues,
      spilling: this.#spilling,
      spells: this.#spells,
      health: this.#health,
      incidents: this.#incidents,
      spillAfter,
      isClosed: () => this.#closed,
      mayRepeat: () => performance.now() < this.#idsLostAt + this.#tidying.keep.keys,
    });
    this.#reading = new PatientReading(this.#store, {
      state: () => this.#health.state,
      hasMore: () => this.#spilling.store.messages.size > 0,
      patience: spillAfter,
    });
    this.#listing = new Listing(this.#reading, this.#spilling, spillAfter);
    this.#tidying = new Tidying(this.#store, options.keep);
    this.parts = {
      store: this.#both,
      queues: this.#queues,
      endpoints: this.#endpoints,
      settling: new Settling(this.#both, this.#queues),
      quarantine: new InboxQuarantine(this.#store, this.#reading, () => this.#health.state),
      reading: this.#reading,
      slots: new SlotStore(this.#store, {
        state: () => this.#health.state,
        watchers: this.#slotWatchers,
        patience: spillAfter,
      }),
      watchers: this.#watchers,
    };
  }

  /** Tells where the spill folder could not serve, before it has to. */
  checkSpillFolder(): void {
    const { folder } = this.#spilling.journal;
    const reason = this.#spilling.journal.check();
    const warning = reason === undefined ? fileSystemWarning(folder) : undefined;
    if (reason !== undefined) this.#log({ kind: 'no-spill', folder, reason });
    else if (warning !== undefined) this.#log({ ...warning, folder });
  }

  /** Changes how long messages are kept, and where they are spilled. What was spilled elsewhere is read back all the same. */
  configure({ keep, spillFolder }: Pick<DurableInboxOptions, 'keep' | 'spillFolder'>): void {
    this.#tidying.keep = keep;
    this.#spilling.moveTo(spillFolder);
    if (this.#spilling.mayHold) this.#health.lookLater();
  }

  accept(record: ProvenMessage | DeadLetter): Promise<Acceptance> {
    return this.#arrivals.accept(this.#endpoints.atPresent(record));
  }

  list(query: ListQuery): Promise<MessageList> {
    return this.#listing.list(query);
  }

  async instances(): Promise<InstanceRow[]> {
    return [];
  }

  state(): InboxState {
    const { state } = this.#health;
    const spilled = this.#spilling.store.messages.size;
    const incident = this.#incidents.ofFile();
    const beside = { ...(spilled > 0 && { spilled }), ...(incident && { incident }) };
    if (state.durable !== true || !this.#queues.hasUnread) return { ...state, ...beside };
    return { durable: false, fault: 'stored events cannot be read: see to the disk', ...beside };
  }

  async wouldKeep(): Promise<boolean> {
    const { durable } = this.#health.state;
    if (this.#closed || durable === undefined) return false;
    return durable || this.#spilling.journal.wouldTake();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tidying.close();
    this.#slotWatchers.close();
    await this.#queues.detach();
    await this.#health.close();
    await this.#bringing.ended();
    await this.#store.close();
    await this.#spilling.close();
    this.#queues.close();
  }

  protected override resumed(nodeId: string): void {
    this.#spells.tellOwed(nodeId);
    this.#incidents.tellOwed();
  }

  #spillingOf(
    { spillFolder, file, lookAgain = LOOK_AGAIN }: DurableInboxOptions,
    patience: number,
  ): Spilling {
    return new Spilling({
      folder: spillFolder,
      register: path.join(path.dirname(file), SPILL_REGISTER),
      onLeft: (left) => this.#log({ kind: 'left', file: left }),
      atWork: (endpointId) => this.#queues.of(endpointId).alarmsAtWork(),
      look: (likeness) => this.#store.call('look', likeness),
      patience,
      lookAgain,
      onTaken: () => this.#health.lookLater(),
      waits: (endpointId) => this.#spilledWait(endpointId),
      restored: (nodeId) => this.#spells.restored(nodeId),
      nodeOf: (endpointId) => this.#endpoints.nodeOf(endpointId),
      endpointOf: (nodeId) => this.#endpoints.endpointOf(nodeId),
    });
  }

  #open({ file, open, lastSequence }: DurableInboxOptions): StorePort {
    const news: StoreEvents = {
      onOpened: (opened) => this.#opened(opened),
      onFault: (reason) => this.#health.failed(reason),
      onWarning: (warning) => this.#warned(warning),
      onSlow: (batch) => this.#health.slow.measured(batch),
    };
    return open?.(news) ?? new StoreThread(file, news, lastSequence);
  }

  #queuesOf(): EventQueues {
    const stores = {
      spilled: this.#spilling.store,
      both: this.#both,
      canLease: () => this.#health.state.durable === true && !this.#spilling.mayHold,
      mayHandOver: () => true,
      isSettled: () => false,
    };
    return new EventQueues(
      stores,
      () => this.#watchers.notify(),
      (line) => this.#log({ kind: 'line', line }),
    );
  }

  #spilledWait(endpointId: string): void {
    this.#queues.of(endpointId).lookAnew();
    this.#watchers.notify();
    if (!this.#closed) this.#health.lookLater();
  }

  #healthChanged(): void {
    if (this.#health.state.durable === true) {
      this.#queues.storeWorks();
      this.#incidents.takes();
    }
    this.#watchers.notify();
  }

  #warned(warning: StoreWarning): void {
    const { kind } = warning;
    if (kind === 'moved' || kind === 'found' || kind === 'salvaged') this.#befell(warning);
    else this.#log(warning);
  }

  #befell(incident: FileIncident): void {
    this.#log(incident);
    this.#incidents.add(incident);
    this.#watchers.notify();
  }

  #opened({ waiting, restored, lost, idsLostSince = Infinity }: OpenReport): void {
    this.#idsLostAt = performance.now() - idsLostSince;
    if (restored !== false) this.#befell({ kind: restored === 'anew' ? 'made-anew' : 'restored', ...lost });
    this.#endpoints.storeOpened();
    this.#queues.storeOpened(waiting);
    this.parts.slots.storeOpened();
    this.#health.recover().catch(() => undefined);
  }

  /** True when nothing that was spilled is left. @throws RvmError STORE_FAILED */
  async #tryToRecover(): Promise<boolean> {
    await this.#store.call('ping', undefined);
    this.#endpoints.tellRest();
    if (this.#spilling.mayHold) await this.#bringing.all();
    if (this.#spilling.mayHold) return false;
    const count = this.#spells.over();
    if (count > 0) this.#log({ kind: 'read-back', count });
    this.#queues.storeWorks();
    return true;
  }
}
