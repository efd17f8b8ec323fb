import { TimeoutBreaker, withTimeout } from '../../concurrency/timers';
import type { Warning } from '../../message/envelope';
import type { Endpoints } from '../endpoints';
import type { OutageLog } from '../incidents';
import {
  alarmOf,
  type LeasedMessage,
  type NewMessage,
  reasonOf,
  type StoreCalls,
  storeFailed,
  type StorePort,
  TOO_SLOW,
} from '../store/port';
import { factsWithWarnings } from '../store/stored-message';
import { plural } from '../../text';
import { settleDoubt, SpareDrain } from './drain';
import { MemoryStore } from '../sqlite/store';
import {
  type AcceptedBeside,
  bothKnow,
  isOpenIn,
  knownIn,
  openAlarmsIn,
  repeatOf,
  type Spill,
} from './beside';
import { BESIDE, type EventEnd, type OpenStore, type OpenedSpare, Spare, type SpareOptions } from './spare';
import { hasSpare, numberOf, removePlace, SpareFolders, type SparePlace } from './spare-folder';

/** What is kept beside an inbox at most, in bytes of bodies; beyond it the senders keep their messages. */
const MAX_BYTES = 256 * 1024 * 1024;
/** More than the largest message has, in bytes. */
const LARGEST = 4 * 1024 * 1024;
/** What is kept in memory alone, where no file can be written: messages, and bytes of their bodies. */
const MOST_IN_MEMORY = 1000;
const MEMORY_BYTES = 32 * 1024 * 1024;
/** Before what the inbox would not have is offered to it again, in milliseconds. */
const OFFER_AGAIN = 60_000;
/** Before a spare that failed is tried again, in milliseconds. */
const TRY_AGAIN = 1000;
/** For one that was left to be opened, and for one to be closed, as a multiple of the time for an answer. */
const LEFT_WITHIN = 5;
const MEMORY_FIRST = 'what is in memory goes first';

interface SparesOptions extends SpareOptions {
  /** The spill folder. */
  folder: string;
  /** File that names the folders in which messages may wait. */
  register: string;
  /** The store of the inbox. */
  main: StorePort;
  endpoints: Endpoints;
  /** Between two looks at what other processes have left, while there are any, in milliseconds. */
  lookAgain: number;
  /** Told what is spilled, and enters. */
  outages: OutageLog;
}

const IN_MEMORY: OpenStore = (_file, news) => new MemoryStore(news);

/** What is beside an inbox that fails: the spare of this process, and those that are still to be emptied, oldest first. */
export class Spares {
  readonly folders: SpareFolders;
  readonly #drain: SpareDrain;
  readonly #loading: Promise<void>;
  #all: Spare[] = [];
  /** The one that takes what comes. */
  #own: Spare | undefined;
  #openingMemory: Promise<OpenedSpare> | undefined;
  #keeping: Promise<unknown> | undefined;
  #opening: Promise<Spare> | undefined;
  #taking: Promise<void>;
  #draining: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #offering: NodeJS.Timeout | undefined;
  #isLoaded = false;
  /** What a former process has left could not be read yet. */
  #hasUnread = false;
  #isClosed = false;
  /** Settles when all that came until now have begun. */
  #last: Promise<unknown> = Promise.resolve();
  /** Folders of former processes that are being opened. */
  readonly #underWay = new Set<string>();
  /** Endpoints whose events could not be leased a moment ago. */
  readonly #waitingLater = new Set<string>();
  /** Messages and ends on their way in. */
  #entering = 0;
  /** Open while a spare of the current folder has not opened in time, or not answered for a message. */
  #breaker = new TimeoutBreaker();
  /** Why the last that was to be opened could not be, and when. */
  #failed: { error: unknown; at: number } | undefined;

  constructor(private readonly options: SparesOptions) {
    this.#drain = new SpareDrain(options.main, options);
    this.folders = new SpareFolders(options.folder, options.register);
    this.#loading = this.#take().then(() => void (this.#isLoaded = true));
    this.#taking = this.#loading;
  }

  /** Grows with what leaves for the inbox, and where something is found that may be on its way to another spare. */
  get moves(): number {
    return this.#drain.moves;
  }

  /** Messages in all of them. */
  get size(): number {
    return this.#all.reduce((sum, { size }) => sum + size, 0);
  }

  /** Of all bodies. */
  get #bytes(): number {
    return this.#all.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** True where something may not be in the inbox yet: what arrives must not overtake it. */
  get mayHold(): boolean {
    return !this.#isLoaded || this.#entering > 0 || this.#all.some(({ hasPending }) => hasPending);
  }

  /** False while a message may be here that nobody knows of: a repeat cannot be told. */
  get isAllKnown(): boolean {
    return (
      this.#isLoaded &&
      !this.#hasUnread &&
      !this.#all.some(({ isStuck, isUnsure, size }) => isUnsure || (isStuck && size > 0))
    );
  }

  /** True while one of them is open. */
  get areOpen(): boolean {
    return this.#all.length > 0;
  }

  /** Those that have something, oldest first. */
  get filled(): Spare[] {
    return this.#all.filter(({ size }) => size > 0);
  }

  /** The one that has an event. */
  having(deliveryId: string): Spare | undefined {
    return this.#all.find((spare) => spare.has(deliveryId));
  }

  /** What became of events of the inbox, which it does not know yet; by delivery id. */
  ends(): ReadonlyMap<string, EventEnd> {
    return new Map(this.#all.flatMap(({ ends }) => [...ends]));
  }

  /** How many of an endpoint wait. */
  waiting(endpoint: string): number {
    return this.#all.reduce((sum, spare) => sum + spare.waiting(endpoint), 0);
  }

  /** Resolves when it is known what former processes have left. */
  loaded(): Promise<void> {
    return this.#loading;
  }

  /** Opens the one that is to take what comes: that takes longer than to write to it. Fails never. */
  async prepare(): Promise<void> {
    await this.#loading;
    if (this.#isClosed || this.#own !== undefined) return;
    await this.#writable(0).catch(() => undefined);
    // The inbox may work by now: then it goes.
    this.options.health.lookLater();
  }

  /** In the order in which they come. @throws RvmError STORE_FAILED */
  async accept(spill: Spill): Promise<AcceptedBeside> {
    this.#entering += 1;
    try {
      // The next one comes when it has begun, not when it is done.
      const finish = await this.#inTurn(() => this.#begin(spill));
      return await finish();
    } finally {
      this.#hasEntered();
    }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const begun = this.#last.then(work);
    this.#last = begun.catch(() => undefined);
    return begun;
  }

  /** Whether one that arrives is known here, or has its turn behind one that is open here; undefined where that cannot be read. */
  async concern(message: NewMessage): Promise<boolean | undefined> {
    const known = await knownIn(this.filled, message);
    if (known !== undefined && known.outcome !== 'new') return true;
    return (await isOpenIn(this.filled, message)) || (known && false);
  }

  /** Alarms of an endpoint, as `alarmOf` names them, of which one is open here, or at work until its end is on the disk. */
  async openAlarms(endpoint: string): Promise<string[]> {
    const open = await openAlarmsIn(this.filled, endpoint);
    return [...new Set([...open, ...this.#atWork(endpoint)])];
  }

  /** Alarms of which its flow has an event. */
  #atWork(endpoint: string): ReadonlySet<string> {
    return this.options.queues.of(endpoint).window.alarmsAtWork();
  }

  /** Fails never: what could not be leased is asked for again. */
  async lease(take: StoreCalls['lease']['take']): Promise<LeasedMessage[]> {
    const leased: LeasedMessage[] = [];
    const except = take.ordered ? [...this.#atWork(take.endpoint)] : [];
    // What is in memory goes before what waits in a file that failed, and may be the same: it enters that first.
    const some = this.#hasInMemory && this.#memory ? [this.#memory] : this.filled;
    for (const spare of some) {
      const limit = take.limit - leased.length;
      if (limit <= 0 || spare.isDoubtful) break;
      try {
        leased.push(...(await spare.lease({ ...take, limit, except })));
        // Not behind the last, or who settles an event at this moment would not find it at its queue.
        if (take.ordered && spare !== some.at(-1))
          except.push(...(await spare.call('openAlarms', take.endpoint)));
      } catch {
        // One that fails keeps none of the others waiting.
        this.#waitsLater(take.endpoint);
      }
    }
    return leased;
  }

  /** Once, however often it is asked. */
  #waitsLater(endpoint: string): void {
    if (this.#waitingLater.has(endpoint)) return;
    this.#waitingLater.add(endpoint);
    setTimeout(() => {
      this.#waitingLater.delete(endpoint);
      this.waits(endpoint);
    }, TRY_AGAIN).unref();
  }

  /** More of an endpoint wait here, or may go now. */
  waits(endpoint: string): void {
    this.options.queues.waitsBeside(endpoint);
    this.options.health.lookLater();
  }

  /** Keeps the end of an event that is in the inbox. @throws RvmError STORE_FAILED */
  async keepEnd(end: EventEnd): Promise<void> {
    this.#entering += 1;
    try {
      const own = await this.#writable(0);
      const keeping = own.keepEnd(end).then(() => true);
      if ((await withTimeout(keeping, this.options.timeoutMs)) !== true) throw storeFailed(TOO_SLOW);
    } finally {
      this.#hasEntered();
    }
  }

  /** Or it was refused, or known: then nothing else tells those that wait in an inbox that works. */
  #hasEntered(): void {
    this.#entering -= 1;
    if (!this.mayHold) this.options.queues.storeWorks();
  }

  /** A node has this endpoint now: what it has under another one goes along. */
  moveAlong(node: string, endpoint: string): void {
    for (const spare of this.#all) void this.#move(spare, 'moveNode', { node, endpoint });
  }

  /** What is of one endpoint goes to another, which a node has. */
  assign(from: string, to: string): void {
    const node = this.options.endpoints.nodeOf(to) ?? to;
    for (const spare of this.#all) void this.#move(spare, 'giveNode', { from, node, endpoint: to });
  }

  /** From now on messages are kept there; what is elsewhere is known all the same. */
  moveTo(folder: string): void {
    if (folder === this.folders.current) return;
    this.folders.moveTo(folder);
    this.#failed = undefined;
    this.#own = undefined;
    this.#breaker = new TimeoutBreaker();
    void this.takeMore();
  }

  /** Resolves when it is known what processes that have ended since then have left, too. */
  takeMore(): Promise<void> {
    this.#taking = this.#taking.then(() => this.#take());
    return this.#taking;
  }

  /** Everything goes into the inbox, which works. Asked again meanwhile, it is the same work. @throws RvmError STORE_FAILED */
  drain(): Promise<void> {
    this.#draining ??= this.#drainAll().finally(() => (this.#draining = undefined));
    return this.#draining;
  }

  /** Settles when nothing enters the inbox any more. */
  async drained(): Promise<void> {
    await this.#draining?.catch(() => undefined);
  }

  /** Resolves with whether a message could be kept now: the folder is tried, at most once a second. */
  async canAccept(): Promise<boolean> {
    return !this.#isClosed && this.#bytes + LARGEST < MAX_BYTES && this.folders.canWrite();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#offering);
    await withTimeout(Promise.allSettled([this.#opening, this.#taking]), this.#patience);
    await Promise.all(this.#all.map((spare) => this.#end(spare)));
  }

  /** @returns what is left to do: to wait for the answer. @throws RvmError STORE_FAILED */
  async #begin(spill: Spill): Promise<() => Promise<AcceptedBeside>> {
    // One after the other: what is in memory goes before what comes now.
    const unkept = this.#hasInMemory ? await this.keepMemory() : undefined;
    if (this.#hasInMemory) return this.#inMemory(spill, unkept ?? storeFailed(MEMORY_FIRST));
    try {
      const own = await this.#writable(spill.message.bytes.byteLength);
      const finish = await this.#beginIn(own, spill);
      return () =>
        finish().catch(async (error: unknown) => (await this.#inTurn(() => this.#inMemory(spill, error)))());
    } catch (error) {
      return this.#inMemory(spill, error);
    }
  }

  async #beginIn(own: Spare, { message, late, ...spill }: Spill): Promise<() => Promise<AcceptedBeside>> {
    // Also one in which the first is on its way; memory waits for none of those, for all of it says that it may come twice.
    const others = this.#all.filter(
      (spare) => spare !== own && spare.size + (own.isDurable ? spare.accepting : 0) > 0,
    );
    // A repeat of what is in memory alone must not be acknowledged.
    if (own.isDurable && others.some(({ isDurable }) => !isDurable)) throw storeFailed(MEMORY_FIRST);
    const before = await knownIn(others, message);
    if (before?.outcome === 'repeat') return async () => repeatOf(before);
    const lease = (await this.#mayGo(others, { message, lease: spill.lease })) ? spill.lease : 'no';
    const isAllKnown = before !== undefined && this.isAllKnown;
    // What left this place since the inbox was asked may be the same. Nothing is waited for from here on.
    const isOfNow = spill.moves === this.moves;
    const known = spill.known && isAllKnown && isOfNow ? bothKnow(spill.known, before) : undefined;
    const node = this.options.endpoints.nodeOf(message.endpoint) ?? message.endpoint;
    // One in memory comes again whatever becomes of it, for it is not acknowledged: after an end of the process nobody knows it.
    const mayRepeat: Warning[] = known === undefined || !own.isDurable ? ['may-repeat'] : [];
    const facts = factsWithWarnings(message.facts, mayRepeat);
    const take = { message: { ...message, node, facts }, lease, ...(known && { known }) };
    const accepting = own.accept(take, late);
    return async () => {
      const accepted = await withTimeout(accepting, this.options.timeoutMs);
      if (accepted === undefined) {
        // It goes to the flow all the same, and what is sent again is a repeat of it.
        this.#breaker.trip(own.acceptLate(accepting).then(() => this.waits(message.endpoint)));
        throw storeFailed(TOO_SLOW);
      }
      if (accepted.outcome === 'repeat') return accepted;
      return { ...accepted, spilled: { node, warnings: [...BESIDE, ...mayRepeat] } };
    };
  }

  /** The one that takes what comes where no file can be written. */
  get #memory(): Spare | undefined {
    return this.#all.find(({ isDurable }) => !isDurable);
  }

  get #hasInMemory(): boolean {
    return this.#memory !== undefined && this.#memory.size > 0;
  }

  /** @param error why no file takes it. @throws RvmError STORE_FAILED where memory takes no more either */
  async #inMemory(spill: Spill, error: unknown): Promise<() => Promise<AcceptedBeside>> {
    this.#openingMemory ??= this.#opened(undefined, { openStore: IN_MEMORY });
    const { spare: memory } = await this.#openingMemory;
    const bytes = memory.bytes + spill.message.bytes.byteLength;
    if (this.#isClosed || memory.size >= MOST_IN_MEMORY || bytes > MEMORY_BYTES) throw error;
    const finish = await this.#beginIn(memory, spill);
    // At once, for the next one is told how much room is left.
    const accepted = await finish();
    return async () => ({ ...accepted, fault: reasonOf(error) });
  }

  /**
   * What is in memory alone goes into a file where one can be written before the inbox works. Fails never.
   * @returns what keeps it from that, where it failed
   */
  keepMemory(): Promise<unknown> {
    this.#keeping ??= this.#keep()
      .catch((error: unknown) => error)
      .finally(() => (this.#keeping = undefined));
    return this.#keeping;
  }

  /** @throws RvmError STORE_FAILED */
  async #keep(): Promise<void> {
    const memory = this.#memory;
    if (memory === undefined || memory.isEmpty || this.#draining !== undefined) return;
    const own = await this.#writable(0);
    const { queues, health, timeoutMs } = this.options;
    this.#entering += 1;
    try {
      await new SpareDrain(own.asTarget, { queues, health, timeoutMs }).run(memory);
    } finally {
      // What the file will not have, the inbox may.
      memory.refused.clear();
      await withTimeout(own.load(), timeoutMs).catch(() => undefined);
      this.#hasEntered();
      // What waits in a file had to wait for what was in memory.
      for (const { endpointsWaiting } of this.#all) endpointsWaiting.forEach((each) => this.waits(each));
    }
  }

  /** True where nothing of its alarm is at work, and nothing waits in another spare. */
  async #mayGo(
    others: readonly Spare[],
    { message, lease }: Pick<Spill, 'message' | 'lease'>,
  ): Promise<boolean> {
    const { station, alarm, endpoint } = message;
    if (others.some((spare) => spare.waiting(endpoint) > 0)) return false;
    if (lease !== 'ordered' || alarm === undefined) return true;
    if (this.#atWork(endpoint).has(alarmOf(station, alarm))) return false;
    return !(await isOpenIn(others, message));
  }

  /** The spare that may take so many bytes more. @throws RvmError STORE_FAILED */
  async #writable(bytes: number): Promise<Spare> {
    if (this.#isClosed) throw storeFailed('it is closed');
    if (this.#breaker.isOpen || this.#own?.hangs === true) throw storeFailed(TOO_SLOW);
    if (this.#bytes + bytes > MAX_BYTES) throw storeFailed('the spill folder is full');
    if (this.#own !== undefined) return this.#own;
    const { error, at } = this.#failed ?? { at: -Infinity };
    if (performance.now() - at < TRY_AGAIN) throw error;
    this.#opening ??= this.#openInTime().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  /** One that does not open in time is waited for by nobody else. @throws RvmError STORE_FAILED */
  async #openInTime(): Promise<Spare> {
    const opened = await this.#breaker.within(this.#open(), this.options.timeoutMs);
    if (opened === undefined) throw storeFailed(TOO_SLOW);
    return opened.give;
  }

  /** @throws RvmError STORE_FAILED */
  async #open(): Promise<Spare> {
    const base = this.folders.current;
    try {
      const { spare } = await this.#opened(this.folders.make());
      if (base === this.folders.current) this.#own = spare;
      this.#failed = undefined;
      return spare;
    } catch (error) {
      const failure = storeFailed(reasonOf(error));
      this.#failed = { error: failure, at: performance.now() };
      throw failure;
    }
  }

  /** @throws RvmError STORE_FAILED; also where it was closed meanwhile */
  async #opened(
    place: SparePlace | undefined,
    { isDoubtful = false, openStore = this.options.openStore } = {},
  ): Promise<OpenedSpare> {
    const opened = await Spare.open(place, { ...this.options, openStore });
    if (!this.#isClosed) {
      opened.spare.isDoubtful = isDoubtful;
      this.#add(opened.spare);
      return opened;
    }
    await this.#end(opened.spare);
    throw storeFailed('it is closed');
  }

  async #move<Name extends 'moveNode' | 'giveNode'>(
    spare: Spare,
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<void> {
    await spare.shared(() => spare.call(name, take)).catch(() => undefined);
    await spare.recount();
    this.waits(take.endpoint);
  }

  async #take(): Promise<void> {
    if (this.#isClosed) return;
    const known = new Set([...this.#all.map(({ place }) => place?.folder ?? ''), ...this.#underWay]);
    let hasUnread = false;
    for (const place of this.folders.take(known)) {
      this.#underWay.add(place.folder);
      const adopting = this.#adopt(place).finally(() => this.#underWay.delete(place.folder));
      // One whose disk hangs is waited for no longer.
      hasUnread = (await withTimeout(adopting, this.#patience)) !== true || hasUnread;
    }
    this.#hasUnread = hasUnread || this.#underWay.size > 0;
    if (this.#hasUnread || this.folders.isShared) this.#takeLater();
  }

  /** False where it could not be read: it is left for the next look. */
  async #adopt(place: SparePlace): Promise<boolean> {
    if (!hasSpare(place)) {
      removePlace(place);
      return true;
    }
    const { main, endpoints, outages, timeoutMs, health } = this.options;
    const opened = await this.#opened(place, { isDoubtful: true }).catch((error: unknown) => {
      if (this.#isClosed) return;
      this.#tell(
        `What a former process has left in ${place.folder} cannot be read, and is looked at again: ${reasonOf(error)}.`,
      );
    });
    if (opened === undefined) return false;
    const { spare, kept } = opened;
    // It may have what is on its way into another one, which was asked before.
    this.#drain.moves += 1;
    for (const node of new Set(kept.map((row) => row.node))) {
      const present = endpoints.endpointOf(node);
      if (present !== undefined) await this.#move(spare, 'moveNode', { node, endpoint: present });
    }
    for (const { node } of kept) outages.restored(node);
    health.lookLater();
    const others = this.filled.filter((other) => other !== spare);
    void settleDoubt(spare, kept, { others, main, timeoutMs }).then(() => {
      spare.isDoubtful = false;
      for (const endpoint of spare.endpointsWaiting) this.waits(endpoint);
    });
    return true;
  }

  /** Nobody tells of the end of another process. */
  #takeLater(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.takeMore(), this.options.lookAgain);
    this.#timer.unref();
  }

  async #drainAll(): Promise<void> {
    const { health } = this.options;
    await this.takeMore();
    await this.#keeping;
    for (const spare of this.#all) await this.#drain.run(spare);
    await this.#drop();
    if (this.#all.some(({ isStuck }) => isStuck)) setTimeout(() => health.lookLater(), TRY_AGAIN).unref();
    const refusals = this.#all.reduce((sum, { refused }) => sum + refused.size, 0);
    if (refusals === 0 || this.#offering !== undefined) return;
    this.#offering = setTimeout(() => this.#offerAgain(), OFFER_AGAIN).unref();
    this.#tell(
      `The inbox does not take ${plural(refusals, 'message')} of what was kept beside it: what it does not take stays there, and is offered to it again. See to the room on its disk.`,
    );
  }

  #offerAgain(): void {
    this.#offering = undefined;
    for (const { refused } of this.#all) refused.clear();
    this.options.health.lookLater();
  }

  /** In the order in which they are drained: what is in memory came last. */
  #add(spare: Spare): void {
    this.#all.push(spare);
    const number = ({ place }: Spare): number => (place === undefined ? Infinity : numberOf(place.folder));
    this.#all.sort((one, other) => number(one) - number(other));
  }

  /** Closes those in which nothing is left. */
  async #drop(): Promise<void> {
    for (const spare of this.#all.filter(({ isEmpty, isStuck }) => isEmpty && !isStuck)) {
      // The file itself is asked: what is known here may be wrong, and what is removed is gone.
      const kept = await withTimeout(spare.load(), this.options.timeoutMs).catch(() => undefined);
      if (kept?.length !== 0 || !spare.isEmpty || this.#entering > 0) continue;
      this.#all = this.#all.filter((other) => other !== spare);
      if (this.#own === spare) this.#own = undefined;
      if (!spare.isDurable) this.#openingMemory = undefined;
      await this.#end(spare);
    }
    if (this.#all.length === 0 && !this.#hasUnread) this.folders.forget();
  }

  /** One that hangs is waited for no longer. */
  async #end(spare: Spare): Promise<void> {
    const ending = spare.end().then((left) => {
      for (const file of left) this.options.log({ kind: 'left', file });
    });
    await withTimeout(ending, this.#patience);
  }

  /** For what may hang, in milliseconds. */
  get #patience(): number {
    return LEFT_WITHIN * this.options.timeoutMs;
  }

  #tell(line: string): void {
    this.options.log({ kind: 'line', line });
  }
}
