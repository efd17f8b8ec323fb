import type { SlowBatch } from './store/protocol';

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
/** Between two lines about one cause, in milliseconds. */
const TELL_EVERY = 10 * 60 * 1000;
/** Before it is told that the store does not answer at all, in milliseconds. */
const HANGS_AFTER = 30_000;

/** Finds out what took so long where a store is too slow, and tells of it once it is over. */
export class SlowStore {
  /** Steady times of the slow syncs within the last hour. */
  #slowSyncs: number[] = [];
  #spell: Pick<SlowPeriod, 'took' | 'sync' | 'work'> | undefined;
  /** By cause, when it was told. */
  readonly #told = new Map<SlowPeriod['cause'], number>();
  #hanging: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: (news: SlowPeriod | HangingStore) => void,
    private readonly steady: () => number = () => performance.now(),
  ) {}

  /** A message was not stored in time. */
  begins(): void {
    if (this.#spell !== undefined) return;
    this.#spell = { took: 0, sync: 0, work: 0 };
    this.#hanging = setTimeout(() => this.log({ kind: 'hangs', since: HANGS_AFTER }), HANGS_AFTER);
    this.#hanging.unref();
  }

  /** The store has measured a batch that took long. */
  measured({ work, sync }: SlowBatch): void {
    if (sync >= SLOW_SYNC) this.#slowSyncs = [...this.#recentSyncs(), this.steady()];
    const spell = this.#spell;
    if (spell === undefined) return;
    spell.work = Math.max(spell.work, work);
    spell.sync = Math.max(spell.sync, sync);
  }

  /** A message is stored after all, so many milliseconds after it was given to the store. */
  answered(took: number): void {
    if (this.#spell !== undefined) this.#spell.took = Math.max(this.#spell.took, took);
  }

  /** The store answers in time again. */
  ends(): void {
    const spell = this.#spell;
    this.forget();
    if (spell === undefined || spell.took === 0) return;
    const slowSyncs = this.#recentSyncs().length;
    const cause = causeOf(spell.sync, slowSyncs);
    if (this.#isNews(cause)) this.log({ kind: 'slow', cause, ...spell, slowSyncs });
  }

  /** Something else has come to light, or nobody is to be told any more. */
  forget(): void {
    clearTimeout(this.#hanging);
    this.#spell = undefined;
  }

  #recentSyncs(): number[] {
    const since = this.steady() - HOUR;
    return this.#slowSyncs.filter((at) => at >= since);
  }

  #isNews(cause: SlowPeriod['cause']): boolean {
    const last = this.#told.get(cause);
    const now = this.steady();
    if (last !== undefined && now - last < TELL_EVERY) return false;
    this.#told.set(cause, now);
    return true;
  }
}

function causeOf(sync: number, slowSyncs: number): SlowPeriod['cause'] {
  if (sync < SLOW_SYNC) return 'busy';
  return slowSyncs < MANY ? 'sync' : 'disk';
}
