import path from 'node:path';
import { withTimeout } from '../../concurrency/timers';
import { SPILL_FOLDER } from '../model';
import {
  DISK_FULL,
  endStep,
  type NotedStep,
  reasonOf,
  type StoreCalls,
  storeFailed,
  type StorePort,
  TOO_SLOW,
} from '../store/port';
import { type Frame, readFrame, type Segment } from './spill-file';
import { holdsMessages, type ReadSegment, SPILL_REGISTER, SpillRegister } from './spill-folder';
import { importedRecord, type SpilledMessage, SpillJournal, type SpillJournalOptions } from './spill-journal';
import { type DoubtfulWork, resolveUncertain, SpillStore, type SpillStoreWork } from './spill-store';

/** A folder in which messages wait that are not in the file of an inbox yet; undefined where there is none. @param folder of the inbox */
export async function hasSpilledMessages(folder: string): Promise<string | undefined> {
  const register = new SpillRegister(path.join(folder, SPILL_REGISTER));
  for (const each of new Set([path.join(folder, SPILL_FOLDER), ...register.read()]))
    if (await holdsMessages(each)) return each;
  return undefined;
}

/** Messages that enter together. */
const BATCH = 100;
/** Before what the inbox would not have is offered to it again, in milliseconds. */
const OFFER_AGAIN = 60_000;

interface BringingWork {
  /** Time for the inbox to take a batch, in milliseconds: then the flow has what is in it from beside the inbox again. */
  timeoutMs: number;
  /** So many more of an endpoint wait in the inbox, or fewer. */
  counts(endpoint: string, change: number): void;
  /** One more message of a node is in the inbox, and nowhere else. */
  entered(node: string): void;
  /** The inbox works, and would not have so many: they stay where they are. */
  refused(count: number): void;
  /** It is to be looked whether they can enter. */
  lookAgain(): void;
}

/** What is spilled, with what has to be read of it. */
interface ReadMessage {
  spilled: SpilledMessage;
  /** False where it could not be written: then nobody was told that it was. */
  isKept: boolean;
  /** Absent where its file cannot be read any more. */
  bytes?: Uint8Array | undefined;
  /** The delivery id of its row, where the inbox took it after all. */
  lateId?: string;
}

/** Takes what is spilled into the inbox, in the state it has: what the flow has at work goes on under its delivery id. */
export class Bringing {
  #isBringing: Promise<void> | undefined;
  /** Messages that were refused since they were last offered again. */
  #refusals = 0;

  constructor(
    private readonly main: StorePort,
    private readonly spilling: Spilling,
    private readonly work: BringingWork,
  ) {}

  /**
   * Asked again meanwhile, it is the same work.
   * @throws RvmError STORE_FAILED; what has not entered stays
   */
  all(): Promise<void> {
    this.#isBringing ??= this.#all().finally(() => {
      this.#isBringing = undefined;
    });
    return this.#isBringing;
  }

  /** Settles when nothing is under way. */
  async ended(): Promise<void> {
    await this.#isBringing?.catch(() => undefined);
  }

  async #all(): Promise<void> {
    await this.spilling.takeMore();
    await this.#tellSettlements();
    const pending = this.spilling.pending();
    for (let at = 0; at < pending.length; at += BATCH) {
      // In the order of receipt: an end that entered first would be the beginning of its alarm.
      await this.#move(await Promise.all(pending.slice(at, at + BATCH).map((each) => this.#read(each))));
    }
    await this.spilling.drop();
    if (this.#refusals > 0) this.work.refused(this.#refusals);
  }

  async #tellSettlements(): Promise<void> {
    for (const settlement of this.spilling.settlements()) {
      const { deliveryId, state, step } = settlement;
      const finished = await this.main.call('finish', { deliveryId, state, give: false, step });
      if (finished?.was === 'received') this.work.counts(finished.endpoint, -1);
      this.spilling.settled(settlement);
    }
  }

  async #read(spilled: SpilledMessage): Promise<ReadMessage> {
    const isKept = await spilled.kept.then(
      () => true,
      () => false,
    );
    if (!isKept) return { spilled, isKept };
    const lateId = await spilled.late;
    return { spilled, isKept, bytes: await this.#bytesOf(spilled), ...(lateId !== undefined && { lateId }) };
  }

  /** Nothing is asked of them meanwhile. @throws RvmError STORE_FAILED */
  async #move(batch: readonly ReadMessage[]): Promise<void> {
    const messages = batch.map(({ spilled }) => spilled);
    // Leased in the inbox, and held by nobody yet, it would be given back there.
    const leasing = (): Promise<void>[] => messages.flatMap((spilled) => spilled.leasing ?? []);
    while (leasing().length > 0) await Promise.all(leasing());
    const moving = this.#moveInTime(batch);
    const moved = moving.catch(() => undefined);
    for (const spilled of messages) spilled.moving = moved;
    try {
      await moving;
    } finally {
      const left = messages.filter(
        (each) => each.moving === moved && this.spilling.store.has(each.deliveryId),
      );
      for (const spilled of left) spilled.moving = undefined;
      this.spilling.release(left);
    }
  }

  /** What an inbox takes that does not answer is offered again all the same: it knows it then. */
  async #moveInTime(batch: readonly ReadMessage[]): Promise<void> {
    const { timeoutMs } = this.work;
    const entered: ReadMessage[] = [];
    try {
      if (!(await withTimeout(this.#enterAll(batch, entered), timeoutMs))) throw storeFailed(TOO_SLOW);
    } finally {
      const noting = this.#entered([...entered]);
      // Also where that takes long: what becomes of them from now on is known in the inbox.
      for (const { spilled } of entered) spilled.moving = noting;
      await withTimeout(noting, timeoutMs);
    }
  }

  /** What could not be read any more has gone from its place all the same. */
  #entered(batch: readonly ReadMessage[]): Promise<void> {
    for (const { spilled, bytes } of batch) if (bytes !== undefined) this.work.entered(spilled.node);
    return this.spilling.entered(batch.map(({ spilled }) => spilled));
  }

  /** @throws RvmError STORE_FAILED where the inbox stores nothing */
  async #enterAll(batch: readonly ReadMessage[], entered: ReadMessage[]): Promise<true> {
    const entering = await Promise.allSettled(
      batch.map(async (read) => {
        if (await this.#enter(read)) entered.push(read);
      }),
    );
    for (const result of entering) if (result.status === 'rejected') throw result.reason;
    return true;
  }

  /** True where it has entered. */
  async #enter({ spilled, isKept, bytes, lateId }: ReadMessage): Promise<boolean> {
    if (!isKept) return false;
    if (bytes === undefined) return true;
    const brought = { ...importedRecord(spilled, bytes), ...(lateId !== undefined && { lateId }) };
    spilled.wasBrought ||= spilled.progress.state !== 'received';
    const bring = async (): Promise<true> => {
      // Its endpoint may have become another one since it was refused.
      const { endpoint } = spilled.columns;
      const message = { ...brought.message, endpoint };
      this.work.counts(endpoint, await this.main.call('bring', { ...brought, message }));
      return true;
    };
    try {
      return await bring();
    } catch {
      // One that cannot be stored must not keep those behind it; unless nothing can be.
      await this.main.call('ping', undefined);
    }
    return bring().catch((error: unknown) => {
      // It has room for a ping, and for none of them.
      if (reasonOf(error).startsWith(DISK_FULL)) throw error;
      return this.#refuse(spilled);
    });
  }

  /** Undefined where its file cannot be read any more, which is then kept. */
  async #bytesOf({ bytes, place }: SpilledMessage): Promise<Uint8Array | undefined> {
    if (bytes !== undefined || place === undefined) return bytes;
    const frame = await readFrame(place.segment, place);
    if (frame?.kind === 'message') return frame.message.bytes;
    place.segment.isDamaged = true;
    return undefined;
  }

  /** A fault that passes may be the reason, or a disk that has room for less: it stays where it is, and goes to the flow from there. */
  #refuse(spilled: SpilledMessage): false {
    spilled.isRefused = true;
    this.#refusals += 1;
    if (this.#refusals === 1) setTimeout(() => this.#offerAgain(), OFFER_AGAIN).unref();
    return false;
  }

  #offerAgain(): void {
    this.#refusals = 0;
    if (this.spilling.retryRefused()) this.work.lookAgain();
  }
}

/** The end of an event that is in the inbox, which it could not be told. */
interface KeptSettlement {
  deliveryId: string;
  state: StoreCalls['finish']['take']['state'];
  step: NotedStep;
  segment: Segment;
}

interface SpillingOptions
  extends
    SpillJournalOptions,
    Omit<SpillStoreWork, 'append' | 'isLoaded'>,
    Pick<DoubtfulWork, 'look' | 'timeoutMs'> {
  /** Between two looks at what other processes have left, while there are any, in milliseconds. */
  lookAgain: number;
  /** Told that something was found there. */
  onTaken: () => void;
}

/** What the inbox cannot take: kept in files, and on its way to the flow all the same, until it is in the inbox. */
export class Spilling {
  readonly store: SpillStore;
  readonly journal: SpillJournal;
  readonly #settlements = new Map<string, KeptSettlement>();
  readonly #loading: Promise<void>;
  #taking: Promise<void>;
  #asking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isLoaded = false;
  /** What is being read is not known yet to be needed. */
  #isTaking = false;
  #isClosed = false;
  /** Messages that are being written. */
  #entering = 0;

  constructor(private readonly options: SpillingOptions) {
    this.journal = new SpillJournal(options);
    this.store = new SpillStore({
      ...options,
      append: (frame) => this.journal.append(frame),
      isLoaded: () => this.#isLoaded,
    });
    this.#loading = this.#load();
    this.#taking = this.#loading;
  }

  /** A node has this endpoint now: what it has under another one goes along. */
  moveAlong(node: string, endpoint: string): void {
    const all = this.store.messages.all();
    // What was spilled when its endpoint had no node.
    for (const spilled of all) if (spilled.node === endpoint) spilled.node = node;
    this.#move(
      all.filter((spilled) => spilled.node === node),
      endpoint,
    );
  }

  /** What is of one endpoint goes to another, which a node has. */
  assign(from: string, to: string): void {
    const assigned = this.store.messages.all().filter(({ columns }) => columns.endpoint === from);
    for (const spilled of assigned) spilled.node = this.options.nodeOf(to) ?? to;
    this.#move(assigned, to);
  }

  /** From now on messages are spilled there; what is elsewhere is known all the same. */
  moveTo(folder: string): void {
    if (folder === this.journal.folder) return;
    this.#entering += 1;
    const moving = this.journal.moveTo(folder);
    const moved = this.#loading.then(() => moving).then(() => this.takeMore());
    void moved.catch(() => undefined).then(() => (this.#entering -= 1));
  }

  /** Resolves when it is known what former processes have left. */
  loaded(): Promise<void> {
    return this.#loading;
  }

  /** Resolves when it is known what processes that have ended since then have left, too. */
  takeMore(): Promise<void> {
    this.#taking = this.#taking.then(() => this.#take());
    return this.#taking;
  }

  /** True where something may not be in the inbox yet: what arrives must not overtake it. */
  get mayHold(): boolean {
    return !this.#isLoaded || this.#entering > 0 || this.#settlements.size > 0 || this.#hasPending();
  }

  /** What the inbox is to take, in order. */
  pending(): ReturnType<SpillStore['messages']['all']> {
    return this.store.messages.all().filter(({ isRefused }) => !isRefused);
  }

  /** They are in the inbox: what becomes of them from now on is known there; also after a crash, if that can be written. */
  async entered(messages: readonly SpilledMessage[]): Promise<void> {
    const deliveryIds = messages.map(({ deliveryId }) => deliveryId);
    if (deliveryIds.length > 0)
      await this.journal.append({ kind: 'inside', deliveryIds }).catch(() => undefined);
    for (const spilled of messages) this.store.messages.remove(spilled);
  }

  /** They are not, and may be asked for again. */
  release(messages: readonly SpilledMessage[]): void {
    for (const endpoint of new Set(messages.map(({ columns }) => columns.endpoint)))
      this.options.waits(endpoint);
  }

  /** What the inbox would not have is asked of it again. True where there is any. */
  retryRefused(): boolean {
    const refused = this.store.messages.all().filter(({ isRefused }) => isRefused);
    for (const spilled of refused) spilled.isRefused = false;
    return refused.length > 0;
  }

  settlements(): KeptSettlement[] {
    return [...this.#settlements.values()];
  }

  /** What became of events that are in the inbox, which it does not know yet; by delivery id. */
  ends(): Map<string, KeptSettlement['state']> {
    return new Map(this.settlements().map(({ deliveryId, state }) => [deliveryId, state]));
  }

  /** Keeps the end of an event that is in the inbox. @throws Error where that cannot be written */
  async settle(
    deliveryId: string,
    { state, step = endStep(state) }: Pick<StoreCalls['finish']['take'], 'state' | 'step'>,
  ): Promise<void> {
    this.#entering += 1;
    try {
      const { segment } = await this.journal.append({ kind: 'settled', deliveryId, state, step });
      this.#settlements.set(deliveryId, { deliveryId, state, step, segment });
    } finally {
      this.#entering -= 1;
    }
  }

  /** It is known in the inbox. */
  settled({ deliveryId }: KeptSettlement): void {
    this.#settlements.delete(deliveryId);
  }

  /** Removes the files that nobody needs any more. */
  async drop(): Promise<void> {
    await this.#taking;
    await this.journal.drop(() => this.#needed());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#taking;
    if (!this.mayHold) await this.drop();
    await this.journal.close();
  }

  #move(some: readonly SpilledMessage[], endpoint: string): void {
    const moved = some.filter(({ columns }) => columns.endpoint !== endpoint);
    for (const spilled of moved) this.store.messages.move(spilled, endpoint);
    if (moved.length > 0) this.options.waits(endpoint);
  }

  #hasPending(): boolean {
    return this.store.messages.some(({ isRefused }) => !isRefused);
  }

  /** Undefined while it is not known of all where they stand. */
  #needed(): Set<Segment> | undefined {
    if (this.#isTaking || this.#entering > 0) return undefined;
    const needed = new Set(this.settlements().map(({ segment }) => segment));
    // Those that the inbox would not have, too: the next start tries again.
    for (const { place, progressIn } of this.store.messages.all()) {
      if (place === undefined) return undefined;
      needed.add(place.segment);
      if (progressIn !== undefined) needed.add(progressIn);
    }
    return needed;
  }

  async #load(): Promise<void> {
    await this.#take();
    this.#isLoaded = true;
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    const found = await this.journal.take();
    const progress = newest(found);
    const all = found.flatMap(({ frames }) => frames);
    const inside = new Set(all.flatMap(({ frame }) => (frame.kind === 'inside' ? frame.deliveryIds : [])));
    for (const { segment, frames } of found)
      for (const { frame, at, length } of frames) {
        if (frame.kind === 'message') {
          if (inside.has(frame.deliveryId)) continue;
          const last = progress.get(frame.deliveryId);
          const reached = last === undefined ? frame : { ...frame, progress: last.progress };
          this.store.restore(reached, { segment, at, length }, last ?? { change: 0 });
        } else if (frame.kind === 'settled') this.#settlements.set(frame.deliveryId, { ...frame, segment });
      }
    this.#isTaking = false;
    if (found.length > 0) this.options.onTaken();
    for (const endpoint of this.store.messages.endpoints()) this.options.waits(endpoint);
    this.#asking = this.#asking.then(() => this.#settleDoubt());
    if (this.journal.isShared) this.#takeLater();
  }

  async #settleDoubt(): Promise<void> {
    await resolveUncertain(
      this.store.messages.all().filter(({ isDoubtful }) => isDoubtful),
      {
        ...this.options,
        inside: (messages) => this.entered(messages),
        release: (messages) => this.release(messages),
      },
    );
    // With nothing left to bring, nobody else would.
    if (!this.mayHold && !this.#isClosed) await this.drop();
  }

  /** Nobody tells of the end of another process. */
  #takeLater(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.takeMore(), this.options.lookAgain);
    this.#timer.unref();
  }
}

/** By delivery id, how far each has come, and the file that says so. */
function newest(found: readonly ReadSegment[]): Map<string, Frame & { kind: 'progress'; segment: Segment }> {
  const progress = new Map<string, Frame & { kind: 'progress'; segment: Segment }>();
  for (const { segment, frames } of found)
    for (const { frame } of frames) {
      if (frame.kind !== 'progress') continue;
      if (frame.change > (progress.get(frame.deliveryId)?.change ?? -1))
        progress.set(frame.deliveryId, { ...frame, segment });
    }
  return progress;
}
