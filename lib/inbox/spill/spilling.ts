import type { StoreCalls } from '../store/protocol';
import { endStep, type NotedStep } from '../store/step';
import { resolveUncertain, type DoubtfulWork } from './doubtful';
import type { Frame } from './frame';
import type { Segment } from './segment';
import { SpillJournal, type SpillJournalOptions } from './spill-journal';
import type { ReadSegment } from './spill-folder';
import { SpillStore } from './spill-store';
import type { SpillStoreWork } from './spill-store-work';
import type { SpilledMessage } from './spilled-message';

/** The end of an event that is in the inbox, which it could not be told. */
export interface KeptSettlement {
  deliveryId: string;
  state: StoreCalls['finish']['take']['state'];
  step: NotedStep;
  segment: Segment;
}

export interface SpillingOptions
  extends
    SpillJournalOptions,
    Omit<SpillStoreWork, 'append' | 'isLoaded'>,
    Pick<DoubtfulWork, 'look' | 'patience'> {
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
