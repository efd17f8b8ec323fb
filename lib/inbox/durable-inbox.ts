import path from 'node:path';
import { ChangeListeners } from '../concurrency/signals';
import { withTimeout } from '../concurrency/timers';
import { type DeadLetter, isForFlow, type ProvenMessage } from '../message/record';
import { plural } from '../text';
import { Endpoints } from './endpoints';
import { ToldIncidents } from './incidents';
import { EventQueues } from './queue/event-queues';
import type { Acceptance, FileIncident, InboxState, InstanceRow, ListQuery, MessageList } from './model';
import type { EventQueue } from './queue/event-queue';
import { SlotListeners, SlotStore } from './slots';
import { BothStores, KnownIdCheck, Listing } from './spill/both-stores';
import { SPILL_REGISTER } from './spill/spill-folder';
import { warningsOf } from './spill/spill-journal';
import { type AcceptedBeside, OutageLog } from './spill/spill-store';
import { Bringing, Spilling } from './spill/spilling';
import { fileSystemWarning } from './sqlite/database';
import { StoreThread } from './sqlite/store-thread';
import { type InboxEvents, StoreHealth } from './store-health';
import { PatientReading } from './reading';
import { type InboxParts, InboxQuarantine, Settling, StoreInbox } from './store-inbox';
import { type RetentionPeriods, Tidying } from './retention';
import {
  type Accepted,
  type AnyStore,
  type Known,
  type NewMessage,
  type OpenReport,
  reasonOf,
  type StoreEvents,
  storeFailed,
  type StorePort,
  type StoreWarning,
} from './store/port';
import { newMessage, withWarnings } from './store/stored-message';

interface Entering {
  storing: Promise<Accepted>;
  /** It takes too long: the queue does not wait for it any more. */
  giveUp: () => void;
}

/** Gives a message to the store; the queue of an event is told what became of it. */
export function enter(
  { store, queues }: { store: AnyStore; queues: EventQueues },
  record: ProvenMessage | DeadLetter,
  message: NewMessage,
): Entering {
  if (!isForFlow(record))
    return { storing: store.call('accept', { message, lease: 'no' }), giveUp: () => undefined };
  return enterEvent(store, queues.of(record.endpointId), record, message);
}

function enterEvent(store: AnyStore, queue: EventQueue, event: ProvenMessage, message: NewMessage): Entering {
  const lease = queue.lease(event);
  let isAwaited = true;
  const storing = store.call('accept', { message, lease });
  storing.then(
    (accepted) => (isAwaited ? queue.stored(event, lease, accepted) : queue.storedLate(accepted)),
    () => isAwaited && queue.stored(event, lease, undefined),
  );
  const giveUp = (): void => {
    isAwaited = false;
    queue.stored(event, lease, undefined);
  };
  return { storing, giveUp };
}

interface ArrivalsOptions {
  store: StorePort;
  queues: EventQueues;
  spilling: Spilling;
  outages: OutageLog;
  health: StoreHealth;
  incidents: ToldIncidents;
  /** Time for the store to take a message before it is spilled, in milliseconds. */
  spillAfter: number;
  /** True once nothing is accepted any more. */
  isClosed: () => boolean;
  /** True while ids may be lost that a repeat could have. */
  mayRepeat: () => boolean;
}

/** What comes in, on its way into the store, or beside it. */
class Arrivals {
  readonly #looks: KnownIdCheck;

  constructor(private readonly options: ArrivalsOptions) {
    this.#looks = new KnownIdCheck(options.store);
  }

  /** @throws RvmError STORE_FAILED */
  async accept(arrived: ProvenMessage | DeadLetter): Promise<Acceptance> {
    const { spilling, spillAfter, health, isClosed } = this.options;
    if (isClosed()) throw storeFailed('it is closed');
    // What was spilled, or is about to be, goes first, or the end of an alarm would come before its beginning.
    const isSpilled = (spilling.mayHold || this.#looks.areAhead) && !(await this.#isAllInside());
    // Only now: a store that was just opened has told what it lacks.
    const record = this.#marked(arrived);
    const message = newMessage(record);
    // What the inbox would not have is known beside it alone.
    if (isSpilled || spilling.store.concerns(message)) return this.#spill(record, message);
    const begun = performance.now();
    const { storing, giveUp } = enter(this.options, record, message);
    const accepted = await withTimeout(storing, spillAfter).catch((error: unknown) => this.#failed(error));
    if (accepted === 'failed') return this.#spill(record, message);
    if (accepted === undefined) {
      giveUp();
      this.options.queues.onStoreTimeout();
      health.tooSlow();
      storing.then(
        () => health.slow.answered(performance.now() - begun),
        () => undefined,
      );
      return this.#spill(record, message, storing);
    }
    health.works();
    return { outcome: accepted.outcome, deliveryId: accepted.deliveryId };
  }

  #marked(record: ProvenMessage | DeadLetter): ProvenMessage | DeadLetter {
    return isForFlow(record) && this.options.mayRepeat() ? withWarnings(record, ['may-repeat']) : record;
  }

  #failed(error: unknown): 'failed' {
    if (this.options.isClosed()) throw error;
    this.options.health.failed(reasonOf(error));
    return 'failed';
  }

  /** A store that is known to fail is waited for by no alarm; but what was spilled before has to be known, for its repeats. */
  async #isAllInside(): Promise<boolean> {
    const { health, spilling, spillAfter } = this.options;
    let recovering = health.recover().catch(() => undefined);
    await withTimeout(spilling.loaded(), spillAfter);
    if (health.state.durable === false) return false;
    if (this.#looks.areAhead) {
      await this.#looks.ended();
      recovering = health.recover().catch(() => undefined);
    }
    return (await withTimeout(recovering, spillAfter)) === true;
  }

  /** @param storing where the store may take it after all */
  #spill(
    record: ProvenMessage | DeadLetter,
    message: NewMessage,
    storing?: Promise<Accepted>,
  ): Promise<Acceptance> {
    return this.#looks.inTurn(storing === undefined ? message : undefined, (known) =>
      this.#spillKnown(record, message, known, storing),
    );
  }

  async #spillKnown(
    record: ProvenMessage | DeadLetter,
    message: NewMessage,
    known: Known | undefined,
    storing: Promise<Accepted> | undefined,
  ): Promise<Acceptance> {
    if (known?.outcome === 'repeat' && known.deliveryId !== undefined)
      return { outcome: 'repeat', deliveryId: known.deliveryId };
    const late = storing?.then(
      ({ outcome, deliveryId }) => (outcome === 'repeat' ? undefined : deliveryId),
      () => undefined,
    );
    const { outcome, deliveryId, spilled } = await this.#beside(record, {
      message,
      known,
      ...(late && { late }),
    });
    if (spilled !== undefined) {
      this.options.health.spilled();
      this.options.outages.spilled(spilled.node);
    }
    return { outcome, deliveryId };
  }

  async #beside(
    record: ProvenMessage | DeadLetter,
    spill: { message: NewMessage; known: Known | undefined; late?: Promise<string | undefined> },
  ): Promise<AcceptedBeside> {
    const { spilling, queues, health, incidents, isClosed } = this.options;
    const isEvent = isForFlow(record);
    const queue = queues.of(record.endpointId);
    const lease = isEvent ? queue.leaseBeside(record) : 'no';
    const told = (accepted: AcceptedBeside | undefined): void => {
      if (!isEvent) return;
      const warnings = accepted?.spilled === undefined ? [] : warningsOf(accepted.spilled);
      queue.spilled(withWarnings(record, warnings), lease, accepted);
    };
    try {
      const accepted = await spilling.store.accept({ ...spill, lease });
      told(accepted);
      return accepted;
    } catch (error) {
      told(undefined);
      const { fault = 'it is not open yet' } = health.state;
      const reason = `${fault}; neither can it spill: ${error instanceof Error ? error.message : 'unknown fault'}`;
      if (health.state.durable === false && !isClosed()) incidents.refused(fault);
      throw storeFailed(reason);
    }
  }
}

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
  readonly #outages: OutageLog;
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
      endpointOf: (deliveryId) => this.#queues.queueOf(deliveryId)?.endpointId,
      onKept: () => this.#health.lookLater(),
      timeoutMs: spillAfter,
    });
    this.#queues = this.#queuesOf();
    this.#incidents = new ToldIncidents(this.#queues);
    this.#endpoints = new Endpoints(this.#store, this.#queues, {
      lookAgain: () => this.#health.lookLater(),
      moved: (node, endpoint) => {
        this.#spilling.moveAlong(node, endpoint);
        this.#outages.adopt(endpoint, node);
      },
      assigned: (from, to) => this.#spilling.assign(from, to),
    });
    this.#outages = new OutageLog(
      (node) => this.#queues.of(this.#endpoints.endpointOf(node) ?? node).reachable,
    );
    this.#bringing = new Bringing(this.#store, this.#spilling, {
      timeoutMs: spillAfter,
      counts: (endpointId, change) => this.#queues.of(endpointId).count(change),
      entered: (nodeId) => this.#outages.entered(nodeId),
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
      outages: this.#outages,
      health: this.#health,
      incidents: this.#incidents,
      spillAfter,
      isClosed: () => this.#closed,
      mayRepeat: () => performance.now() < this.#idsLostAt + this.#tidying.keep.keys,
    });
    this.#reading = new PatientReading(this.#store, {
      state: () => this.#health.state,
      hasMore: () => this.#spilling.store.messages.size > 0,
      timeoutMs: spillAfter,
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
        timeoutMs: spillAfter,
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

  async canAccept(): Promise<boolean> {
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
    this.#outages.tellOwed(nodeId);
    this.#incidents.tellOwed();
  }

  #spillingOf(
    { spillFolder, file, lookAgain = LOOK_AGAIN }: DurableInboxOptions,
    timeoutMs: number,
  ): Spilling {
    return new Spilling({
      folder: spillFolder,
      register: path.join(path.dirname(file), SPILL_REGISTER),
      onLeft: (left) => this.#log({ kind: 'left', file: left }),
      atWork: (endpointId) => this.#queues.of(endpointId).alarmsAtWork(),
      look: (likeness) => this.#store.call('look', likeness),
      timeoutMs,
      lookAgain,
      onTaken: () => this.#health.lookLater(),
      waits: (endpointId) => this.#spilledWait(endpointId),
      restored: (nodeId) => this.#outages.restored(nodeId),
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
      isLeaseSafe: () => true,
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
    const count = this.#outages.over();
    if (count > 0) this.#log({ kind: 'read-back', count });
    this.#queues.storeWorks();
    return true;
  }
}
