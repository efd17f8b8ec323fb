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
import { OutageLog } from './spare/outage-log';
import type { OpenStore } from './spare/spare';
import { SPILL_REGISTER } from './spare/spare-folder';
import { type AcceptedBeside, Spares } from './spare/spares';
import { Stores } from './stores';
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
import { messageKeyOf, newMessage, withWarnings } from './store/stored-message';

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

/** Time for a store that fails to say whether a message is known, in milliseconds: it may read what it cannot write. */
const LOOK_WITHIN = 250;

/**
 * What a store that fails knows of messages: asked of all at once, and told in the order in which they came, so that none
 * overtakes another. None waits longer than the store has for an answer, however many wait.
 */
class KnownIdCheck {
  /** Settles when all that came until now had their turn. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** A question that was not answered in time: it is asked no other until it is. */
  #unanswered: Promise<unknown> | undefined;

  constructor(private readonly store: StorePort) {}

  /**
   * Its turn comes when all before it had theirs.
   * @param message undefined where the store need not be asked
   * @param act told what the store knows; undefined where it cannot read that now
   */
  async inTurn<Result>(
    message: NewMessage | undefined,
    act: (known: Known | undefined) => Promise<Result>,
  ): Promise<Result> {
    const looking = message && this.#look(message);
    this.#waiting += 1;
    // The next one comes when it has begun, not when it is done.
    const begun = this.#last.then(async () => {
      const known = await looking;
      this.#waiting -= 1;
      return { acting: act(known) };
    });
    this.#last = begun;
    return (await begun).acting;
  }

  /** True while some that came wait for their turn. */
  get areAhead(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves when all that came until now had their turn. */
  async ended(): Promise<void> {
    await this.#last;
  }

  #look(message: NewMessage): Promise<Known | undefined> {
    if (this.#unanswered !== undefined) return Promise.resolve(undefined);
    const asking = this.store.call('look', messageKeyOf(message)).then(
      (known) => ({ known }),
      () => ({ known: undefined }),
    );
    return withTimeout(asking, LOOK_WITHIN).then((answer) => {
      if (answer === undefined) this.#hangs(asking);
      return answer?.known;
    });
  }

  #hangs(asking: Promise<unknown>): void {
    this.#unanswered = asking;
    void asking.then(() => {
      if (this.#unanswered === asking) this.#unanswered = undefined;
    });
  }
}

interface ArrivalsOptions {
  store: StorePort;
  queues: EventQueues;
  spares: Spares;
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
    const { spares, spillAfter, health, isClosed } = this.options;
    if (isClosed()) throw storeFailed('it is closed');
    // What was spilled, or is about to be, goes first, or the end of an alarm would come before its beginning.
    const mustWait = spares.mayHold || this.#looks.areAhead || health.state.durable === undefined;
    const isSpilled = mustWait && !(await this.#isAllInside());
    // Only now: a store that was just opened has told what it lacks.
    const record = this.#marked(arrived);
    const message = newMessage(record);
    // What the inbox would not have is known beside it alone.
    if (isSpilled || (spares.size > 0 && (await spares.concern(message))))
      return this.#spill(record, message);
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
    const { health, spares, spillAfter } = this.options;
    let recovering = health.recover().catch(() => undefined);
    await withTimeout(spares.loaded(), spillAfter);
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
    const { spares, queues } = this.options;
    const isEvent = isForFlow(record);
    const queue = queues.of(record.endpointId);
    const lease = isEvent ? queue.leaseBeside(record) : 'no';
    const told = (accepted: AcceptedBeside | undefined): void => {
      if (!isEvent) return;
      const { warnings = [] } = accepted?.spilled ?? {};
      queue.spilled(withWarnings(record, warnings), lease, accepted);
    };
    const accepted = await spares.accept({ ...spill, lease }).catch((error: unknown) => {
      told(undefined);
      throw this.#refused(reasonOf(error));
    });
    told(accepted);
    // In memory alone: it goes to the flow, and its sender, who is told nothing, keeps it for us.
    if (accepted.fault !== undefined) throw this.#refused(accepted.fault);
    return accepted;
  }

  #refused(spareFault: string): Error {
    const { health, incidents, isClosed } = this.options;
    const { fault = 'it is not open yet' } = health.state;
    if (health.state.durable === false && !isClosed()) incidents.refused(fault);
    return storeFailed(`${fault}; neither can it spill: ${spareFault}`);
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
  /** And the store of a spare. Default: likewise. */
  openSpare?: OpenStore;
}

/**
 * The durable inbox: one SQLite file in a thread of its own, files for what it cannot take, and the queues from which events go
 * to their consumers. After a crash each event that was not settled is delivered again, under the same id.
 */
export class DurableInbox extends StoreInbox {
  protected readonly parts: InboxParts;
  readonly #store: StorePort;
  readonly #both: Stores;
  readonly #spares: Spares;
  readonly #outages: OutageLog;
  readonly #queues: EventQueues;
  readonly #incidents: ToldIncidents;
  readonly #endpoints: Endpoints;
  readonly #watchers = new ChangeListeners();
  readonly #slotWatchers = new SlotListeners();
  readonly #log: (news: InboxEvents) => void;
  readonly #health: StoreHealth;
  readonly #arrivals: Arrivals;
  readonly #reading: PatientReading;
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
    this.#store = this.#open(options);
    this.#spares = this.#sparesOf(options, spillAfter);
    this.#both = new Stores(this.#store, {
      spares: this.#spares,
      endpointOf: (deliveryId) => this.#queues.queueOf(deliveryId)?.endpointId,
      onKept: () => this.#health.lookLater(),
      waits: (endpointId) => this.#waitsBeside(endpointId),
      timeoutMs: spillAfter,
    });
    this.#queues = this.#queuesOf();
    this.#incidents = new ToldIncidents(this.#queues);
    this.#endpoints = new Endpoints(this.#store, this.#queues, {
      lookAgain: () => this.#health.lookLater(),
      moved: (node, endpoint) => {
        this.#spares.moveAlong(node, endpoint);
        this.#outages.adopt(endpoint, node);
      },
      assigned: (from, to) => this.#spares.assign(from, to),
    });
    this.#outages = new OutageLog(
      (node) => this.#queues.of(this.#endpoints.endpointOf(node) ?? node).reachable,
    );
    this.#arrivals = new Arrivals({
      store: this.#store,
      queues: this.#queues,
      spares: this.#spares,
      outages: this.#outages,
      health: this.#health,
      incidents: this.#incidents,
      spillAfter,
      isClosed: () => this.#closed,
      mayRepeat: () =>
        !this.#spares.isAllKnown || performance.now() < this.#idsLostAt + this.#tidying.keep.keys,
    });
    this.#reading = new PatientReading(this.#store, {
      state: () => this.#health.state,
      hasMore: () => this.#spares.size > 0,
      timeoutMs: spillAfter,
    });
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
    const { folder } = this.#spares;
    const reason = this.#spares.check();
    const warning = reason === undefined ? fileSystemWarning(folder) : undefined;
    if (reason !== undefined) this.#log({ kind: 'no-spill', folder, reason });
    else if (warning !== undefined) this.#log({ ...warning, folder });
  }

  /** Changes how long messages are kept, and where they are spilled. What was spilled elsewhere is read back all the same. */
  configure({ keep, spillFolder }: Pick<DurableInboxOptions, 'keep' | 'spillFolder'>): void {
    this.#tidying.keep = keep;
    this.#spares.moveTo(spillFolder);
    if (this.#spares.mayHold) this.#health.lookLater();
  }

  accept(record: ProvenMessage | DeadLetter): Promise<Acceptance> {
    return this.#arrivals.accept(this.#endpoints.atPresent(record));
  }

  list(query: ListQuery): Promise<MessageList> {
    return this.#both.list(query, this.#reading);
  }

  async instances(): Promise<InstanceRow[]> {
    return [];
  }

  state(): InboxState {
    const { state } = this.#health;
    const spilled = this.#spares.size;
    const incident = this.#incidents.ofFile();
    const beside = { ...(spilled > 0 && { spilled }), ...(incident && { incident }) };
    if (state.durable !== true || !this.#queues.hasUnread) return { ...state, ...beside };
    return { durable: false, fault: 'stored events cannot be read: see to the disk', ...beside };
  }

  async canAccept(): Promise<boolean> {
    const { durable } = this.#health.state;
    if (this.#closed || durable === undefined) return false;
    return durable || this.#spares.canAccept();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tidying.close();
    this.#slotWatchers.close();
    await this.#queues.detach();
    await this.#health.close();
    await this.#spares.drained();
    await this.#store.close();
    await this.#spares.close();
    this.#queues.close();
  }

  protected override resumed(nodeId: string): void {
    this.#outages.tellOwed(nodeId);
    this.#incidents.tellOwed();
  }

  #sparesOf(
    { spillFolder, file, openSpare, lookAgain = LOOK_AGAIN }: DurableInboxOptions,
    timeoutMs: number,
  ): Spares {
    return new Spares({
      folder: spillFolder,
      register: path.join(path.dirname(file), SPILL_REGISTER),
      main: this.#store,
      openStore: openSpare ?? ((spare, news) => new StoreThread(spare, news, { isSpare: true })),
      endpoints: {
        nodeOf: (endpointId) => this.#endpoints.nodeOf(endpointId),
        endpointOf: (nodeId) => this.#endpoints.endpointOf(nodeId),
      },
      timeoutMs,
      lookAgain,
      events: {
        atWork: (endpointId) => this.#queues.of(endpointId).alarmsAtWork(),
        waits: (endpointId) => this.#waitsBeside(endpointId),
        counts: (endpointId, change) => this.#queues.of(endpointId).count(change),
        restored: (nodeId) => this.#outages.restored(nodeId),
        entered: (nodeId) => this.#outages.entered(nodeId),
        found: () => this.#health.lookLater(),
        reopened: () => {
          this.#queues.reconcile();
          this.#health.lookLater();
        },
        refused: (count) =>
          this.#log({
            kind: 'line',
            line: `The inbox does not take ${plural(count, 'message')} of the spill folder: what it does not take stays there, and is offered to it again. See to the room on its disk.`,
          }),
        unreadable: (folder, reason) =>
          this.#log({
            kind: 'line',
            line: `What a former process has left in ${folder} cannot be read, and is looked at again: ${reason}.`,
          }),
        left: (left) => this.#log({ kind: 'left', file: left }),
      },
    });
  }

  #open({ file, open, lastSequence }: DurableInboxOptions): StorePort {
    const news: StoreEvents = {
      onOpened: (opened) => this.#opened(opened),
      onFault: (reason) => this.#health.failed(reason),
      onWarning: (warning) => this.#warned(warning),
      onSlow: (batch) => this.#health.slow.measured(batch),
    };
    return open?.(news) ?? new StoreThread(file, news, { last: lastSequence });
  }

  #queuesOf(): EventQueues {
    const stores = {
      spilled: this.#spares,
      both: this.#both,
      canLease: () => this.#health.state.durable === true && !this.#spares.mayHold,
      isLeaseSafe: () => true,
      isSettled: () => false,
    };
    return new EventQueues(
      stores,
      () => this.#watchers.notify(),
      (line) => this.#log({ kind: 'line', line }),
    );
  }

  #waitsBeside(endpointId: string): void {
    this.#queues.of(endpointId).lookAnew();
    this.#watchers.notify();
    if (!this.#closed) this.#health.lookLater();
  }

  #healthChanged(): void {
    if (this.#health.state.durable === true) {
      this.#queues.storeWorks();
      this.#incidents.takes();
    } else if (this.#health.state.durable === false) void this.#spares.prepare();
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
    await this.#store.call('ping', undefined).catch(async (error: unknown) => {
      await this.#spares.keepMemory();
      throw error;
    });
    this.#endpoints.tellRest();
    if (this.#spares.areOpen || this.#spares.mayHold) await this.#spares.drain();
    if (this.#spares.mayHold) return false;
    const count = this.#outages.over();
    if (count > 0) this.#log({ kind: 'read-back', count });
    this.#queues.storeWorks();
    return true;
  }
}
