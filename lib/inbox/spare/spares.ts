import { withTimeout } from '../../concurrency/timers';
import type { Warning } from '../../message/envelope';
import type { Endpoints } from '../endpoints';
import {
  type AcceptedAnywhere,
  alarmOf,
  type KeptMessage,
  type Known,
  type LeasedMessage,
  type NewMessage,
  reasonOf,
  type StoreCalls,
  storeFailed,
  type StorePort,
  TOO_SLOW,
} from '../store/port';
import { factsWithWarnings, messageKeyOf } from '../store/stored-message';
import { drain, type DrainEvents } from './drain';
import { settleDoubt } from './left-spares';
import { BESIDE, type EventEnd, type OpenStore, Spare } from './spare';
import {
  checkFolder,
  hasSpare,
  makePlace,
  numberOf,
  removePlace,
  type SparePlace,
  SpillProbe,
  SpillRegister,
  takeLeft,
} from './spare-folder';

/** What is kept beside an inbox at most, in bytes of bodies; beyond it the senders keep their messages. */
const MAX_BYTES = 256 * 1024 * 1024;
/** More than the largest message has, in bytes. */
const LARGEST = 4 * 1024 * 1024;
/** Before what the inbox would not have is offered to it again, in milliseconds. */
const OFFER_AGAIN = 60_000;
/** Before a spare that could not be opened or read is tried again, in milliseconds. */
const TRY_AGAIN = 1000;

export interface SparesOptions {
  /** The spill folder. */
  folder: string;
  /** File that names the folders in which messages may wait. */
  register: string;
  /** The store of the inbox. */
  main: StorePort;
  /** The store of a spare. */
  openStore: OpenStore;
  endpoints: Pick<Endpoints, 'nodeOf' | 'endpointOf'>;
  /** Time for a store to answer, in milliseconds. */
  timeoutMs: number;
  /** Between two looks at what other processes have left, while there are any, in milliseconds. */
  lookAgain: number;
  events: SparesEvents;
}

/** Told what becomes of messages beside the inbox. */
export interface SparesEvents extends Pick<DrainEvents, 'counts' | 'entered' | 'waits'> {
  /** Alarms, as `alarmOf` names them, of which the flow of an endpoint has an event. */
  atWork(endpoint: string): ReadonlySet<string>;
  /** One of a node is known that a former process has left. */
  restored(node: string): void;
  /** Something was found that is to enter the inbox. */
  found(): void;
  /** Nobody knows what became of what a spare was asked last. */
  reopened(): void;
  /** The inbox works, and will not have so many. */
  refused(count: number): void;
  /** A damaged file stays, though nothing of it is needed. */
  left(file: string): void;
}

/** A message on its way beside the inbox. */
interface Spill {
  message: NewMessage;
  lease: StoreCalls['accept']['take']['lease'];
  /** What the inbox knows of it; undefined where that cannot be read. */
  known: Known | undefined;
  /** The delivery id of its row, once it is known that the store took it after all. */
  late?: Promise<string | undefined>;
}

/** `spilled`: absent of a repeat. */
export type AcceptedBeside = AcceptedAnywhere & { spilled?: { node: string; warnings: readonly Warning[] } };

/** What is beside an inbox that fails: the spare of this process, and those that are still to be emptied, oldest first. */
export class Spares {
  readonly #register: SpillRegister;
  readonly #probe = new SpillProbe();
  readonly #folders: Set<string>;
  readonly #loading: Promise<void>;
  #all: Spare[] = [];
  /** The one that takes what comes. */
  #own: Spare | undefined;
  #opening: Promise<Spare> | undefined;
  #folder: string;
  #taking: Promise<void>;
  #draining: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLoaded = false;
  /** What a former process has left could not be read yet. */
  #hasUnread = false;
  #isClosed = false;
  #isShared = false;
  /** Settles when all that came until now have begun. */
  #last: Promise<unknown> = Promise.resolve();
  /** Messages and ends on their way in. */
  #entering = 0;
  /** Messages that a spare has not answered for in time: it is asked nothing else until it does. */
  #unanswered = 0;
  #refusals = 0;
  /** Why a spare could not be opened, and when. */
  #failed: { error: unknown; at: number } | undefined;

  constructor(private readonly options: SparesOptions) {
    this.#folder = options.folder;
    this.#register = new SpillRegister(options.register);
    this.#folders = new Set([...this.#register.read(), options.folder]);
    this.#loading = this.#take().then(() => void (this.#isLoaded = true));
    this.#taking = this.#loading;
  }

  get folder(): string {
    return this.#folder;
  }

  /** Messages in all of them. */
  get size(): number {
    return this.#all.reduce((sum, { size }) => sum + size, 0);
  }

  /** True where something may not be in the inbox yet: what arrives must not overtake it. */
  get mayHold(): boolean {
    return !this.#isLoaded || this.#entering > 0 || this.#all.some(({ hasPending }) => hasPending);
  }

  /** False while a message may be here that nobody knows of: a repeat cannot be told. */
  get isAllKnown(): boolean {
    return (
      this.#isLoaded && !this.#hasUnread && !this.#all.some(({ isStuck, isUnsure }) => isStuck || isUnsure)
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
    this.options.events.found();
  }

  /** In the order in which they come. @throws RvmError STORE_FAILED */
  async accept(spill: Spill): Promise<AcceptedBeside> {
    this.#entering += 1;
    // The next one comes when it has begun, not when it is done.
    const begun = this.#last.then(() => this.#begin(spill));
    this.#last = begun.catch(() => undefined);
    try {
      return await (
        await begun
      )();
    } finally {
      this.#entering -= 1;
    }
  }

  /** Whether one that arrives is known here, or has its turn behind one that is open here. */
  async concern(message: NewMessage): Promise<boolean> {
    const known = await this.#knownIn(this.filled, message);
    if (known !== undefined && known.outcome !== 'new') return true;
    return this.#isOpenIn(this.filled, message);
  }

  /** Alarms of an endpoint, as `alarmOf` names them, of which one is open here, or at work until its end is on the disk. */
  async openAlarms(endpoint: string): Promise<string[]> {
    const open = await openAlarmsIn(this.filled, endpoint);
    return [...new Set([...open, ...this.options.events.atWork(endpoint)])];
  }

  /** Fails never: what could not be leased is asked for again. */
  async lease(take: StoreCalls['lease']['take']): Promise<LeasedMessage[]> {
    const leased: LeasedMessage[] = [];
    const except = take.ordered ? [...this.options.events.atWork(take.endpoint)] : [];
    try {
      for (const spare of this.filled) {
        const limit = take.limit - leased.length;
        if (limit <= 0) break;
        leased.push(...(await spare.lease({ ...take, limit, except })));
        // Those of the same alarm that came later are in those that come now.
        if (take.ordered) except.push(...(await spare.call('openAlarms', take.endpoint)));
      }
    } catch {
      setTimeout(() => this.options.events.waits(take.endpoint), TRY_AGAIN).unref();
    }
    return leased;
  }

  /** Keeps the end of an event that is in the inbox. @throws RvmError STORE_FAILED */
  async keepEnd(end: EventEnd): Promise<void> {
    this.#entering += 1;
    try {
      const own = await this.#writable(0);
      const keeping = own.keepEnd(end).then(() => true);
      if ((await withTimeout(keeping, this.options.timeoutMs)) !== true) throw storeFailed(TOO_SLOW);
    } finally {
      this.#entering -= 1;
    }
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
    if (folder === this.#folder) return;
    this.#folder = folder;
    this.#folders.add(folder);
    this.#register.write([...this.#folders]);
    this.#failed = undefined;
    this.#own = undefined;
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

  /** What is wrong with the folder, before it is needed: undefined where it can be written. */
  check(): string | undefined {
    return checkFolder(this.#folder);
  }

  /** Resolves with whether a message could be kept now: the folder is tried, at most once a second. */
  async canAccept(): Promise<boolean> {
    return !this.#isClosed && this.#bytes + LARGEST < MAX_BYTES && this.#probe.passes(this.#folder);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#opening?.catch(() => undefined);
    await this.#taking;
    for (const spare of this.#all) await this.#end(spare);
  }

  get #bytes(): number {
    return this.#all.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** @returns what is left to do: to wait for the answer. @throws RvmError STORE_FAILED */
  async #begin(spill: Spill): Promise<() => Promise<AcceptedBeside>> {
    const { message, late } = spill;
    const own = await this.#writable(message.bytes.byteLength);
    const others = this.filled.filter((spare) => spare !== own);
    const before = await this.#knownIn(others, message);
    if (before?.outcome === 'repeat') return async () => repeatOf(before);
    const known = spill.known && before && this.isAllKnown ? both(spill.known, before) : undefined;
    const node = this.options.endpoints.nodeOf(message.endpoint) ?? message.endpoint;
    const mayRepeat: Warning[] = known === undefined ? ['may-repeat'] : [];
    const facts = factsWithWarnings(message.facts, mayRepeat);
    const lease = (await this.#mayGo(others, spill)) ? spill.lease : 'no';
    const accepting = own.accept(
      { message: { ...message, node, facts }, lease, ...(known && { known }) },
      late,
    );
    return async () => {
      const accepted = await withTimeout(accepting, this.options.timeoutMs);
      if (accepted === undefined) {
        this.#takeLate(own, message.endpoint, accepting);
        throw storeFailed(TOO_SLOW);
      }
      if (accepted.outcome === 'repeat') return accepted;
      return { ...accepted, spilled: { node, warnings: [...BESIDE, ...mayRepeat] } };
    };
  }

  /** True where nothing of its alarm is at work, and nothing waits in another spare. */
  async #mayGo(others: readonly Spare[], { message, lease }: Spill): Promise<boolean> {
    const { station, alarm, endpoint } = message;
    if (others.some((spare) => spare.waiting(endpoint) > 0)) return false;
    if (lease !== 'ordered' || alarm === undefined) return true;
    if (this.options.events.atWork(endpoint).has(alarmOf(station, alarm))) return false;
    return !(await this.#isOpenIn(others, message));
  }

  async #isOpenIn(some: readonly Spare[], { station, alarm, endpoint }: NewMessage): Promise<boolean> {
    if (some.length === 0 || alarm === undefined) return false;
    return (await openAlarmsIn(some, endpoint)).includes(alarmOf(station, alarm));
  }

  /** Undefined where one of them cannot tell. */
  async #knownIn(some: readonly Spare[], message: NewMessage): Promise<Known | undefined> {
    let known: Known = { outcome: 'new', first: true, ended: false };
    try {
      for (const spare of some) known = both(known, await spare.call('look', messageKeyOf(message)));
      return known;
    } catch {
      return undefined;
    }
  }

  /** It goes to the flow all the same, and what is sent again is a repeat of it. */
  #takeLate(own: Spare, endpoint: string, accepting: Promise<AcceptedAnywhere>): void {
    this.#unanswered += 1;
    void own
      .acceptLate(accepting)
      .then(() => this.options.events.waits(endpoint))
      .finally(() => (this.#unanswered -= 1));
  }

  /** The spare that may take so many bytes more. @throws RvmError STORE_FAILED */
  async #writable(bytes: number): Promise<Spare> {
    if (this.#isClosed) throw storeFailed('it is closed');
    if (this.#unanswered > 0) throw storeFailed(TOO_SLOW);
    if (this.#bytes + bytes > MAX_BYTES) throw storeFailed('the spill folder is full');
    if (this.#own !== undefined) return this.#own;
    const { error, at } = this.#failed ?? { at: -Infinity };
    if (performance.now() - at < TRY_AGAIN) throw error;
    this.#opening ??= this.#openInTime().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  /** One that does not open in time is waited for by nobody else. @throws RvmError STORE_FAILED */
  async #openInTime(): Promise<Spare> {
    const opening = this.#open();
    const opened = await withTimeout(opening, this.options.timeoutMs);
    if (opened !== undefined) return opened;
    this.#unanswered += 1;
    void opening.catch(() => undefined).finally(() => (this.#unanswered -= 1));
    throw storeFailed(TOO_SLOW);
  }

  /** @throws RvmError STORE_FAILED */
  async #open(): Promise<Spare> {
    const base = this.#folder;
    try {
      this.#register.write([...this.#folders]);
      const spare = await this.#opened(makePlace(base));
      this.#all.push(spare);
      if (base === this.#folder) this.#own = spare;
      return spare;
    } catch (error) {
      const failure = storeFailed(reasonOf(error));
      this.#failed = { error: failure, at: performance.now() };
      throw failure;
    }
  }

  #opened(place: SparePlace): Promise<Spare> {
    const { openStore, timeoutMs, events } = this.options;
    return Spare.open(place, { openStore, timeoutMs, onUnsure: () => events.reopened() });
  }

  async #move<Name extends 'moveNode' | 'giveNode'>(
    spare: Spare,
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<void> {
    await spare.shared(() => spare.call(name, take)).catch(() => undefined);
    await spare.recount();
    this.options.events.waits(take.endpoint);
  }

  async #take(): Promise<void> {
    if (this.#isClosed) return;
    this.#isShared = this.#hasUnread = false;
    const known = new Set(this.#all.map(({ place }) => place.folder));
    const places: SparePlace[] = [];
    for (const base of this.#folders) {
      try {
        const taken = takeLeft(base, known);
        this.#isShared ||= taken.isShared;
        places.push(...taken.left);
      } catch {
        this.#isShared = this.#hasUnread = true;
      }
    }
    places.sort((one, other) => numberOf(one.folder) - numberOf(other.folder));
    for (const place of places) if (!(await this.#adopt(place))) this.#isShared = this.#hasUnread = true;
    if (this.#isShared) this.#takeLater();
  }

  /** False where it could not be read: it is left for the next look. */
  async #adopt(place: SparePlace): Promise<boolean> {
    if (!hasSpare(place)) {
      removePlace(place);
      return true;
    }
    const spare = await this.#opened(place).catch(() => undefined);
    if (spare === undefined) return false;
    const { main, endpoints, timeoutMs, events } = this.options;
    spare.isDoubtful = true;
    this.#all.push(spare);
    this.#all.sort((one, other) => numberOf(one.place.folder) - numberOf(other.place.folder));
    const kept = await spare.load().catch(() => []);
    for (const node of new Set(kept.map((row) => row.node))) {
      const present = endpoints.endpointOf(node);
      if (present !== undefined) await this.#move(spare, 'moveNode', { node, endpoint: present });
    }
    for (const { node } of kept) events.restored(node);
    events.found();
    void this.#markTwins(spare, kept)
      .then(() => settleDoubt(spare, kept, main, timeoutMs))
      .catch(() => undefined)
      .then(() => {
        spare.isDoubtful = false;
        for (const endpoint of spare.endpointsWaiting) events.waits(endpoint);
      });
    return true;
  }

  /** What came to two processes goes to the flow twice. */
  async #markTwins(spare: Spare, kept: readonly KeptMessage[]): Promise<void> {
    for (const other of this.filled.filter((each) => each !== spare))
      for (const row of kept) {
        const { outcome, deliveryId } = await other.call('look', messageKeyOf(row));
        if (outcome !== 'repeat' || deliveryId === undefined) continue;
        await Promise.all([spare.call('doubt', [row.deliveryId]), other.call('doubt', [deliveryId])]);
      }
  }

  /** Nobody tells of the end of another process. */
  #takeLater(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.takeMore(), this.options.lookAgain);
    this.#timer.unref();
  }

  async #drainAll(): Promise<void> {
    const { main, events, timeoutMs } = this.options;
    await this.takeMore();
    const { counts, entered, waits } = events;
    const refused = (): void => {
      this.#refusals += 1;
      if (this.#refusals === 1) setTimeout(() => this.#offerAgain(), OFFER_AGAIN).unref();
    };
    for (const spare of this.#all) await drain(spare, main, { counts, entered, waits, refused }, timeoutMs);
    await this.#drop();
    if (this.#all.some(({ isStuck }) => isStuck)) setTimeout(() => this.#tryAgain(), TRY_AGAIN).unref();
    if (this.#refusals > 0) events.refused(this.#refusals);
  }

  #tryAgain(): void {
    for (const spare of this.#all) spare.isStuck = false;
    this.options.events.found();
  }

  #offerAgain(): void {
    this.#refusals = 0;
    const any = this.#all.map((spare) => spare.offerAgain()).includes(true);
    if (any) this.options.events.found();
  }

  /** Closes those in which nothing is left. */
  async #drop(): Promise<void> {
    for (const spare of this.#all.filter(({ isEmpty }) => isEmpty)) {
      // The file itself is asked: what is known here may be wrong, and what is removed is gone.
      const kept = await spare.load().catch(() => undefined);
      if (kept?.length !== 0 || !spare.isEmpty || this.#entering > 0) continue;
      this.#all = this.#all.filter((other) => other !== spare);
      if (this.#own === spare) this.#own = undefined;
      await this.#end(spare);
    }
    if (this.#all.length > 0 || this.#isShared) return;
    this.#folders.clear();
    this.#folders.add(this.#folder);
    this.#register.write([this.#folder]);
  }

  async #end(spare: Spare): Promise<void> {
    for (const file of await spare.end()) this.options.events.left(file);
  }
}

/** As `alarmOf` names them. One that cannot be read has none. */
async function openAlarmsIn(some: readonly Spare[], endpoint: string): Promise<string[]> {
  const open = some.map((spare) => spare.call('openAlarms', endpoint).catch(() => []));
  return (await Promise.all(open)).flat();
}

function repeatOf({ deliveryId = '', first, ended }: Known): AcceptedBeside {
  return { outcome: 'repeat', deliveryId, sequence: null, first, ended, leased: false };
}

/** What two places know of one message; the other is asked after the one. */
function both(one: Known, other: Known): Known {
  const found = one.outcome === 'repeat' ? one : other;
  const outcome = found.outcome === 'new' ? one.outcome : found.outcome;
  return {
    outcome,
    ...(found.deliveryId !== undefined && { deliveryId: found.deliveryId }),
    first: one.first && other.first,
    ended: one.ended || other.ended,
  };
}
