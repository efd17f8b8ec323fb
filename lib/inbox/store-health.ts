import { meter } from '../meter';
import type { FileIncident, InboxState } from './model';
import { reasonOf, type SlowBatch, type StoreWarning, TOO_SLOW } from './store/port';

/**
 * A time in which the store was too slow, in milliseconds: the longest that a message took, that writing it to the disk took,
 * and that the work before took. What is missing in the sum, the message waited for the machine. `cause`: the disk only where
 * writing itself was slow (`sync`), and to be seen to only where it was so often (`disk`).
 */
export interface SlowPeriod {
  kind: 'slow';
  cause: 'busy' | 'sync' | 'disk';
  took: number;
  sync: number;
  work: number;
  /** Slow writes within the last hour. */
  slowSyncs: number;
}

/** The store has not answered for so many milliseconds, and does not yet. */
export interface HangingStore {
  kind: 'hangs';
  since: number;
}

/** A sync of a disk that is well takes a hundredth of it; a machine under load brings one of this length now and then. Milliseconds. */
const SLOW_SYNC = 1000;
/** So many of them within an hour are the disk. */
const MANY = 3;
const HOUR = 60 * 60 * 1000;
/** Between two log lines about one cause of slowness, or about one fault that lasts, in milliseconds. */
const TELL_EVERY = 10 * 60 * 1000;
/** Before it is told that the store does not answer at all, in milliseconds. */
const HANGS_AFTER = 30_000;

/** Finds out what took so long where a store is too slow, and tells of it once it is over. */
export class SlowStore {
  /** Monotonic times of the slow syncs within the last hour. */
  #slowSyncs: number[] = [];
  #outage: Pick<SlowPeriod, 'took' | 'sync' | 'work'> | undefined;
  /** By cause, when it was told. */
  readonly #told = new Map<SlowPeriod['cause'], number>();
  #hanging: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: (news: SlowPeriod | HangingStore) => void,
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  /** A message was not stored in time. */
  begins(): void {
    if (this.#outage !== undefined) return;
    this.#outage = { took: 0, sync: 0, work: 0 };
    this.#hanging = setTimeout(() => this.log({ kind: 'hangs', since: HANGS_AFTER }), HANGS_AFTER);
    this.#hanging.unref();
  }

  /** The store has measured a batch that took long. */
  measured({ work, sync }: SlowBatch): void {
    if (sync >= SLOW_SYNC) this.#slowSyncs = [...this.#recentSyncs(), this.monotonic()];
    const outage = this.#outage;
    if (outage === undefined) return;
    outage.work = Math.max(outage.work, work);
    outage.sync = Math.max(outage.sync, sync);
  }

  /** A message is stored after all, so many milliseconds after it was given to the store. */
  answered(took: number): void {
    if (this.#outage !== undefined) this.#outage.took = Math.max(this.#outage.took, took);
  }

  /** The store answers in time again. */
  ends(): void {
    const outage = this.#outage;
    this.forget();
    if (outage === undefined || outage.took === 0) return;
    const slowSyncs = this.#recentSyncs().length;
    const cause = causeOf(outage.sync, slowSyncs);
    if (this.#isNews(cause)) this.log({ kind: 'slow', cause, ...outage, slowSyncs });
  }

  /** Something else has come to light, or nobody is to be told any more. */
  forget(): void {
    clearTimeout(this.#hanging);
    this.#outage = undefined;
  }

  #recentSyncs(): number[] {
    const since = this.monotonic() - HOUR;
    return this.#slowSyncs.filter((at) => at >= since);
  }

  #isNews(cause: SlowPeriod['cause']): boolean {
    const last = this.#told.get(cause);
    const now = this.monotonic();
    if (last !== undefined && now - last < TELL_EVERY) return false;
    this.#told.set(cause, now);
    return true;
  }
}

function causeOf(sync: number, slowSyncs: number): SlowPeriod['cause'] {
  if (sync < SLOW_SYNC) return 'busy';
  return slowSyncs < MANY ? 'sync' : 'disk';
}

/** What an operator should know of an inbox; nothing of an event. */
export type InboxEvents =
  /** `folder`: a spill folder, where it is not about that of the inbox. */
  | (StoreWarning & { folder?: string })
  | FileIncident
  | { kind: 'no-spill'; folder: string; reason: string }
  | { kind: 'fault'; reason: string }
  /** It can store again, after a fault that was told. */
  | { kind: 'back' }
  | { kind: 'spilling' }
  /** Neither does the spill folder take anything. */
  | { kind: 'refuses'; reason: string }
  /** So many messages, those of all endpoints, are no longer kept beside it. */
  | { kind: 'read-back'; count: number }
  | { kind: 'left'; file: string }
  | SlowPeriod
  | HangingStore
  | { kind: 'line'; line: string };

interface StoreHealthOptions {
  /** Between two looks at a store that fails, in milliseconds. */
  lookAgain: number;
  /** Asks whether the store works, and stores what was spilled. True when nothing is left to do. */
  recover: () => Promise<boolean>;
  changed: () => void;
  log: (news: InboxEvents) => void;
}

/** A fault that comes again this soon, in milliseconds, is not told a second time. */
const COMES_AGAIN = 1000;

/** Whether a store can store; if not, it is asked again and again. */
export class StoreHealth {
  /** Told of what it took to store. */
  readonly slow: SlowStore;
  #state: InboxState = { durable: undefined };
  #recovering: Promise<boolean> | undefined;
  #toldSpilling = false;
  #toldRefusing = false;
  /** A fault was told, and not its end. */
  #owesEnd = false;
  /** When each fault was told: a disk that fails again and again, by turns in two ways perhaps, is not a line each time. */
  readonly #told = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: StoreHealthOptions) {
    this.slow = new SlowStore(options.log);
  }

  get state(): InboxState {
    return this.#state;
  }

  works(): void {
    if (this.#state.durable === true) return;
    const lately = performance.now() - COMES_AGAIN;
    for (const [reason, at] of this.#told) if (at < lately) this.#told.delete(reason);
    this.#state = { durable: true };
    if (this.#owesEnd) this.options.log({ kind: 'back' });
    this.#owesEnd = false;
    this.slow.ends();
    this.options.changed();
  }

  failed(reason: string): void {
    if (this.#closed) return;
    this.slow.forget();
    const now = performance.now();
    if (now - (this.#told.get(reason) ?? -Infinity) > TELL_EVERY) {
      this.#told.set(reason, now);
      this.options.log({ kind: 'fault', reason });
      this.#owesEnd = true;
    }
    this.#cannotStore(reason);
  }

  /**
   * One that is being opened and checked is no fault yet, and one that fails has told of a better reason. What took so long is
   * known, and told, only once it answers.
   */
  tooSlow(): void {
    if (this.#closed || this.#state.durable !== true) return;
    this.slow.begins();
    this.#cannotStore(TOO_SLOW);
  }

  /** A message is in the spill folder now. */
  spilled(): void {
    meter()?.spilled();
    if (!this.#toldSpilling) this.options.log({ kind: 'spilling' });
    this.#toldSpilling = true;
    this.lookLater();
  }

  /** A message is in no file. */
  refused(reason: string): void {
    if (!this.#toldRefusing) this.options.log({ kind: 'refuses', reason });
    this.#toldRefusing = true;
  }

  /** Asked again meanwhile, it is the same try. @throws RvmError STORE_FAILED */
  recover(): Promise<boolean> {
    this.#recovering ??= this.#try().finally(() => {
      this.#recovering = undefined;
    });
    return this.#recovering;
  }

  /** Nobody may ask anything of a store that fails; so it is looked at. */
  lookLater(): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.recover().then(
        (isDone) => {
          if (!isDone) this.lookLater();
        },
        () => this.lookLater(),
      );
    }, this.options.lookAgain);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.slow.forget();
    clearTimeout(this.#timer);
    await this.#recovering?.catch(() => undefined);
  }

  #cannotStore(fault: string): void {
    this.#state = { durable: false, fault };
    this.options.changed();
    this.lookLater();
  }

  async #try(): Promise<boolean> {
    try {
      const isDone = await this.options.recover();
      if (isDone) this.#toldSpilling = this.#toldRefusing = false;
      this.works();
      return isDone;
    } catch (error) {
      this.failed(reasonOf(error));
      throw error;
    }
  }
}
