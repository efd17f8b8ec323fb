import path from 'node:path';
import { ReadWriteLock, Semaphore } from '../../concurrency/semaphore';
import { CancelToken } from '../../concurrency/signals';
import { sleep, TimeoutBreaker, withTimeout } from '../../concurrency/timers';
import type { Warning } from '../../message/envelope';
import type { ToldIncidents } from '../incidents';
import type { ListQuery } from '../model';
import type { EventQueues } from '../queue/event-queues';
import type { Tidying } from '../retention';
import {
  type AcceptedAnywhere,
  type Brought,
  type Finish,
  isFileIncident,
  type KeptMessage,
  type LeasedMessage,
  type LocalCall,
  reasonOf,
  type StoreCalls,
  type StoreEvents,
  storeFailed,
  type StorePort,
  TOO_SLOW,
} from '../store/port';
import type { InboxEvents, StoreHealth } from '../store-health';
import { plural } from '../../text';
import { syncFolder } from '../sqlite/database';
import { hasSpare, removePlace, SPARE_FILE, type SparePlace } from './spare-folder';

/** The owner of the slots that hold ends of events which the inbox could not be told; by delivery id. */
const ENDS = 'ends';
/** Looks at a file until it is given up for now, and between two of them, in milliseconds: a damaged page shows when it is read, and the next opening salvages the file. */
const LOOKS = 3;
const LOOK_AGAIN = 1100;
/** Before one that answers with faults, or not at all, is looked at, and given up, as a multiple of the time for an answer. */
const GIVEN_UP_AFTER = 5;
/** Nothing that is asked of a spare is called off. */
const NEVER = new CancelToken();

/** The end of an event. */
export type EventEnd = Pick<Finish, 'deliveryId' | 'state' | 'step'>;

/** Opens the store of a spare. */
export type OpenStore = (file: string, events: StoreEvents) => StorePort;

/** With what was in it when it was opened. */
export interface OpenedSpare {
  spare: Spare;
  kept: KeptMessage[];
}

export interface SpareOptions {
  openStore: OpenStore;
  /** Time for it to answer, in milliseconds. */
  timeoutMs: number;
  queues: EventQueues;
  health: Pick<StoreHealth, 'lookLater'>;
  incidents: Pick<ToldIncidents, 'befell'>;
  tidying: Pick<Tidying, 'idsLost'>;
  /** Told what an operator should know. */
  log: (news: InboxEvents) => void;
}

/**
 * A second store beside one that fails: the same tables and the same rules, on a file of its own. A message keeps its delivery
 * id when it enters the inbox. Routing needs no question: the ids are in memory, too.
 */
export class Spare {
  /** What became of events of the inbox, which it does not know yet. */
  readonly ends = new Map<string, EventEnd>();
  /** The delivery id of its row in the inbox, where that took a message after all, too late; by the one here. */
  readonly late = new Map<string, Promise<string | undefined>>();
  /** The inbox works, and will not have them. */
  readonly refused = new Set<string>();
  /** Messages on their way into it. */
  accepting = 0;
  /** Taken too late, and perhaps leased for nobody. */
  readonly unclaimed = new Set<string>();
  /** Nothing of it may go, for it is not known yet what the inbox has of it. */
  isDoubtful = false;
  readonly #sizes = new Map<string, number>();
  /** In the inbox, and perhaps still in the file. */
  readonly #entered = new Set<string>();
  /** The inbox was to take them when they were with the flow, or dead, and may do so late. */
  readonly #brought = new Set<string>();
  /** Leased in the last moment, and perhaps held by no queue yet. */
  readonly #fresh = new Set<string>();
  readonly #lock = new ReadWriteLock();
  readonly #lists = new Semaphore(1);
  readonly #port: StorePort;
  readonly #opening: Promise<void>;
  #waiting: Record<string, number> = {};
  #bytes = 0;
  readonly #breaker: TimeoutBreaker;
  /** It could not be read when it was to enter the inbox. */
  #isUnreadable = false;
  /** And for so long, or not written, that what was in it then is with no flow any more, as far as anybody here knows. */
  #givenUp: readonly string[] | undefined;
  #look: NodeJS.Timeout | undefined;
  #unsure = 0;
  /** Some of its events may be elsewhere, too, and nobody could tell, or mark, which. */
  #hasTwins = false;
  #isLoaded = false;
  #isClosed = false;

  private constructor(
    readonly place: SparePlace | undefined,
    private readonly options: SpareOptions,
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#opening = promise;
    const { openStore, incidents, tidying } = options;
    this.#breaker = new TimeoutBreaker(() => {
      this.#answersLost();
      if (this.#givenUp !== undefined) void this.#lookNow();
    });
    let isOpen = false;
    this.#port = openStore(place === undefined ? '' : path.join(place.folder, SPARE_FILE), {
      onOpened: ({ idsLostSince }) => {
        if (idsLostSince !== undefined) tidying.idsLost(idsLostSince);
        if (isOpen) void this.#reopened();
        isOpen = true;
        resolve();
      },
      onFault: (reason) => reject(storeFailed(reason)),
      onWarning: (warning) => {
        if (place !== undefined && isFileIncident(warning))
          incidents.befell({ ...warning, folder: place.folder });
      },
      onSlow: () => undefined,
    });
  }

  /**
   * Opens one that is new, or was left by a former process.
   * @param place undefined of one in memory
   * @throws RvmError STORE_FAILED where it cannot be opened and read
   */
  static async open(place: SparePlace | undefined, options: SpareOptions): Promise<OpenedSpare> {
    const isNew = place !== undefined && !hasSpare(place);
    const spare = new Spare(place, options);
    try {
      await spare.#opening;
      const kept = await spare.#loadPatiently();
      if (isNew) syncFolder(place.folder);
      return { spare, kept };
    } catch (error) {
      await spare.#closeUnopened(isNew);
      throw error;
    }
  }

  /** False where it is in memory alone. */
  get isDurable(): boolean {
    return this.place !== undefined;
  }

  get size(): number {
    return this.#sizes.size;
  }

  /** Of all bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True while all else goes on without it. */
  get isStuck(): boolean {
    return this.#isUnreadable || this.#givenUp !== undefined;
  }

  /** True while it does not answer. */
  get hangs(): boolean {
    return this.#breaker.isOpen;
  }

  /** True where something is to enter the inbox. */
  get hasPending(): boolean {
    return !this.isStuck && (this.ends.size > 0 || this.#sizes.size > this.refused.size);
  }

  get isEmpty(): boolean {
    return this.#sizes.size === 0 && this.ends.size === 0 && this.#entered.size === 0;
  }

  get deliveryIds(): string[] {
    return [...this.#sizes.keys()];
  }

  has(deliveryId: string): boolean {
    return this.#sizes.has(deliveryId);
  }

  /** True of an event that was leased a moment ago: its queue may not hold it yet. */
  isFresh(deliveryId: string): boolean {
    return this.#fresh.has(deliveryId);
  }

  waiting(endpoint: string): number {
    return this.#waiting[endpoint] ?? 0;
  }

  get endpointsWaiting(): string[] {
    return Object.keys(this.#waiting);
  }

  /** Does something while nothing of it enters the inbox. */
  async shared<Result>(work: () => Promise<Result>): Promise<Result> {
    const release = await this.#lock.shared.acquire(NEVER, 0);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** What is asked of one of its events belongs into `shared`. @throws RvmError STORE_FAILED */
  call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    return this.#inTime(this.#port.call(name, take));
  }

  /** @throws RvmError STORE_FAILED, at once while it hangs */
  async #inTime<Give>(asking: Promise<Give>): Promise<Give> {
    try {
      const answer = await this.#breaker.within(asking, this.options.timeoutMs);
      if (answer !== undefined) return answer.give;
    } catch (error) {
      this.#lookLater();
      throw failed(reasonOf(error));
    }
    this.#lookLater();
    throw failed(TOO_SLOW);
  }

  /** What can be told of its events to nobody must not keep all else waiting for ever. */
  #lookLater(): void {
    if (this.#isClosed) return;
    this.#look ??= setTimeout(() => void this.#lookNow(), GIVEN_UP_AFTER * this.options.timeoutMs).unref();
  }

  async #lookNow(): Promise<void> {
    const isWell = await this.call('ping', undefined)
      .then(() => this.call('carry', { after: 0, limit: 1 }))
      .then(Boolean, () => false);
    clearTimeout(this.#look);
    this.#look = undefined;
    this.#isUnreadable &&= !isWell;
    if (this.#isClosed || (isWell && (await this.takeBack()))) return;
    this.#lookLater();
    if (this.#givenUp === undefined) this.#giveUp();
  }

  /** Others go on without what is in it; once it answers, that waits again. */
  #giveUp(): void {
    const { queues, log } = this.options;
    this.#givenUp = this.deliveryIds;
    if (this.size === 0) return;
    for (const id of this.#givenUp) queues.queueOf(id)?.settled(id, false);
    const line = `The spare in the spill folder, ${this.place?.folder ?? ''}, fails, or does not answer: see to its disk. Of its ${plural(this.size, 'message')} those that are not settled come again once it works.`;
    log({ kind: 'line', line });
  }

  /** Nobody knows what became of what it was asked last. */
  #answersLost(): void {
    for (const queue of this.options.queues.all()) queue.reconcile();
    this.options.health.lookLater();
  }

  /** What it was given up with, and no queue holds any more, waits again, as a further delivery. False where that cannot be written. */
  async takeBack(): Promise<boolean> {
    if (this.#givenUp === undefined) return true;
    const cutOff = this.#givenUp.filter((id) => this.has(id));
    const given = await this.call('giveBack', { unsent: [], cutOff }).catch(() => undefined);
    if (given === undefined) return false;
    this.#givenUp = undefined;
    await this.recount();
    this.#answersLost();
    for (const endpoint of this.endpointsWaiting) this.options.queues.waitsBeside(endpoint);
    return true;
  }

  /** Whether it could be read when it was to enter the inbox. */
  wasRead(isRead: boolean): void {
    this.#isUnreadable = !isRead;
    if (!isRead) this.#lookLater();
  }

  /** Does something while nothing is asked of its events; not where it does not answer what it was asked before: then it is stuck. */
  async alone<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    const acquiring = this.#lock.exclusive.acquire(NEVER, 0);
    const release = await withTimeout(acquiring, this.options.timeoutMs);
    if (release === undefined) {
      void acquiring.then((late) => late());
      this.wasRead(false);
      return undefined;
    }
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** @param late of a message that the inbox may take after all. @throws RvmError STORE_FAILED */
  async accept(
    take: StoreCalls['accept']['take'],
    late: Promise<string | undefined> | undefined,
  ): Promise<AcceptedAnywhere> {
    this.accepting += 1;
    const accepted = await this.#port
      .call('accept', take)
      .catch((error: unknown) => {
        void this.#whileUnsure(() => this.load());
        throw error;
      })
      .finally(() => (this.accepting -= 1));
    const { deliveryId, outcome, leased } = accepted;
    const { endpoint, bytes, state } = take.message;
    const isKnown = this.has(deliveryId) || this.#entered.has(deliveryId);
    // Of one whose answer was lost nobody knew here: it may have been heard elsewhere meanwhile.
    if (outcome === 'repeat' && !isKnown) await this.#port.call('doubt', [deliveryId]);
    if (!this.#entered.has(deliveryId)) this.#add(deliveryId, bytes.byteLength);
    if (outcome === 'repeat') return accepted;
    if (late !== undefined) this.late.set(deliveryId, late);
    if (leased) this.#freshen([deliveryId]);
    else if (outcome === 'new' && state === 'received') this.#count(endpoint, 1);
    return { ...accepted, sequence: null };
  }

  /** An answer was not waited for: its sender may have come again, and been heard elsewhere. */
  async acceptLate(accepting: Promise<AcceptedAnywhere>): Promise<void> {
    await this.#whileUnsure(async () => {
      const { deliveryId, leased } = await accepting;
      this.unclaimed.add(deliveryId);
      try {
        await this.#port.call('doubt', [deliveryId]);
        if (leased) await this.#port.call('giveBack', { unsent: [deliveryId], cutOff: [] });
      } finally {
        this.unclaimed.delete(deliveryId);
      }
      await this.recount();
    });
    // It may be leased still, for nobody.
    this.#answersLost();
  }

  /** True while something may be in it that nobody knows of. */
  get isUnsure(): boolean {
    return this.#unsure > 0;
  }

  /** From now on all that goes from it says that it may come twice, also once it is opened anew. */
  cannotTell(): void {
    this.#hasTwins = true;
  }

  async #whileUnsure(work: () => Promise<unknown>): Promise<void> {
    this.#unsure += 1;
    await work().then(
      () => (this.#unsure = Math.max(0, this.#unsure - 1)),
      // Until it is opened once more.
      () => undefined,
    );
  }

  /** @throws RvmError STORE_FAILED */
  async lease(take: StoreCalls['lease']['take']): Promise<LeasedMessage[]> {
    // Not before what it was given up with is taken back.
    if (this.isDoubtful || this.#givenUp !== undefined || this.waiting(take.endpoint) === 0) return [];
    return this.shared(async () => {
      // What is in the inbox could not be removed here until now.
      if (this.#entered.size > 0) await this.#remove();
      const events = await this.call('lease', take);
      const ids = events.map(({ deliveryId }) => deliveryId);
      this.#count(take.endpoint, -events.length);
      this.#freshen(ids);
      if (!this.isUnsure && !this.#hasTwins) return events.map(asBeside);
      // Others may have been heard elsewhere, too.
      void this.#port.call('doubt', ids).catch(() => undefined);
      return events.map((event) => ({ ...asBeside(event), warnings: [...BESIDE, 'may-repeat'] }));
    });
  }

  /** As a store that messages of another spare enter. */
  get asTarget(): Pick<StorePort, 'call'> {
    return {
      call: (name, take) =>
        this.#inTime(
          this.#port.call(name, take).then((given) => {
            // In one step with the answer: what is asked of it from now on is asked here.
            if (name === 'bring') this.#entersHere(take as Brought, given as number);
            return given;
          }),
        ),
    };
  }

  #entersHere({ record }: Brought, change: number): void {
    this.#add(record.delivery_id, record.bytes?.byteLength ?? 0);
    this.#count(record.endpoint, change);
  }

  /** One list at a time, for it shares the thread with what comes in. @throws RvmError STORE_FAILED */
  async list(query: ListQuery): Promise<LeasedMessage[]> {
    const release = await this.#lists.acquire(NEVER);
    try {
      const rows = await this.#port.call('list', query);
      return rows.filter(({ deliveryId }) => this.has(deliveryId)).map(asBeside);
    } finally {
      release();
    }
  }

  /** Counts anew what waits, after something that may have changed it. */
  async recount(): Promise<void> {
    // In one step with the answer: those before and after it count, too.
    const counting = this.#port.call('waiting', undefined).then((waiting) => void (this.#waiting = waiting));
    await this.#inTime(counting).catch(() => undefined);
  }

  /** So many more of an endpoint wait, or fewer. */
  #count(endpoint: string, change: number): void {
    this.#waiting[endpoint] = Math.max(0, this.waiting(endpoint) + change);
  }

  /** Keeps the end of an event that is in the inbox. @throws RvmError STORE_FAILED */
  async keepEnd(end: EventEnd): Promise<void> {
    const writes = [{ name: end.deliveryId, value: JSON.stringify(end) }];
    await this.call('putSlots', { owner: ENDS, writes });
    this.ends.set(end.deliveryId, end);
  }

  /** The inbox knows it. */
  async dropEnd(deliveryId: string): Promise<void> {
    this.ends.delete(deliveryId);
    const writes = [{ name: deliveryId }];
    await this.call('putSlots', { owner: ENDS, writes }).catch(() => undefined);
  }

  /** To be called before it is brought. True where it was before, in a state which the inbox may say of it only later. */
  isBroughtAgain(deliveryId: string, state: string): boolean {
    const wasBrought = this.#brought.has(deliveryId);
    if (state !== 'received') this.#brought.add(deliveryId);
    return wasBrought;
  }

  /** They are in the inbox: what becomes of them from now on is known there; also after a crash, if that can be written. */
  async gone(deliveryIds: readonly string[]): Promise<void> {
    for (const id of deliveryIds) {
      this.#forget(id);
      this.#entered.add(id);
    }
    if (this.#entered.size > 0) await this.#remove().catch(() => undefined);
  }

  async #remove(): Promise<void> {
    const ids = [...this.#entered];
    await this.call('gone', ids);
    for (const id of ids) this.#entered.delete(id);
    await this.recount();
  }

  /** Reads what is in the file, and no longer what is not. @throws RvmError STORE_FAILED */
  async load(): Promise<KeptMessage[]> {
    const before = [...this.#sizes.keys()];
    const kept = await this.#port.call('kept', undefined);
    // At this moment: what is removed while the rest is asked does not come back.
    const unknown = kept.filter(({ deliveryId: id }) => !this.has(id) && !this.#entered.has(id));
    const { slots } = await this.#port.call('slots', { owner: ENDS, since: 0 });
    const ids = new Set(kept.map(({ deliveryId }) => deliveryId));
    // Their senders were not told that they are here.
    const unheard = unknown.map(({ deliveryId }) => deliveryId);
    if (this.#isLoaded && unheard.length > 0) await this.#port.call('doubt', unheard);
    this.#isLoaded = true;
    for (const id of before) if (!ids.has(id)) this.#forget(id);
    for (const { deliveryId, size } of unknown) this.#add(deliveryId, size);
    for (const { name, value } of slots)
      if (value !== undefined) this.ends.set(name, JSON.parse(value) as EventEnd);
    await this.recount();
    return kept;
  }

  /** @throws RvmError STORE_FAILED */
  async #loadPatiently(): Promise<KeptMessage[]> {
    for (let look = 1; ; look += 1) {
      try {
        return await this.load();
      } catch (error) {
        if (look === LOOKS) throw error;
        await sleep(LOOK_AGAIN);
      }
    }
  }

  /**
   * Closes it. Where nothing is left in the file itself, its folder goes.
   * @returns damaged files that stay
   */
  async end(): Promise<string[]> {
    // What is known here may be wrong, and what is removed is gone.
    const kept = this.isEmpty ? await this.load().catch(() => undefined) : undefined;
    await this.#close();
    if (this.place === undefined) return [];
    if (kept?.length === 0 && this.isEmpty) return removePlace(this.place);
    this.place.lock?.release();
    return [];
  }

  /** Closes what could not be read; a folder that is new, or has no file, goes: a full disk would get one a second. */
  async #closeUnopened(isNew: boolean): Promise<void> {
    await this.#close();
    if (this.place === undefined) return;
    if (!isNew && hasSpare(this.place)) this.place.lock?.release();
    else removePlace(this.place);
  }

  #close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#look);
    return this.#port.close();
  }

  /** Perhaps salvaged: what is lost in it is nowhere any more. */
  async #reopened(): Promise<void> {
    this.#unsure = 1;
    await this.load().then(
      () => (this.#unsure = 0),
      () => undefined,
    );
    this.#answersLost();
  }

  #add(deliveryId: string, size: number): void {
    if (!this.#sizes.has(deliveryId)) this.#bytes += size;
    this.#sizes.set(deliveryId, size);
  }

  #forget(deliveryId: string): void {
    this.#bytes -= this.#sizes.get(deliveryId) ?? 0;
    for (const each of [this.#sizes, this.refused, this.#brought, this.late]) each.delete(deliveryId);
  }

  /** The way to a queue takes a moment. */
  #freshen(ids: readonly string[]): void {
    for (const id of ids) this.#fresh.add(id);
    setImmediate(() => setImmediate(() => ids.forEach((id) => this.#fresh.delete(id))));
  }
}

function failed(reason: string): Error {
  return storeFailed(
    `the spill folder cannot be written: ${reason}. See to its disk: what is in it and not settled comes again`,
  );
}

/** What the flow is told of each message that is in no inbox. */
export const BESIDE: readonly Warning[] = ['not-in-inbox'];

/** A message of a spare, as the flow or a list has it. */
function asBeside(row: LeasedMessage): LeasedMessage {
  return { ...row, sequence: null, warnings: [...BESIDE, ...(row.warnings ?? [])] };
}
