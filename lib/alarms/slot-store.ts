import { sleep, withTimeout } from '../concurrency/timers';
import { RvmError } from '../error';
import type { Inbox } from '../inbox/inbox';
import type { Slot, SlotOutcome, SlotWrite } from '../inbox/slot';
import { isRecord } from '../json/json';
import type { Counted, Level, Raiser } from './level';

/** Milliseconds between two looks at what others have changed. */
const REFRESH_EVERY = 250;
/** Milliseconds between two tries of a store that fails. */
const RETRY = 1000;
/** Milliseconds that a reading may take. */
const READ_TIMEOUT_MS = 5000;

interface StoreLinkOptions {
  slots: Slots;
  owner: string;
  /** True while nobody else can write there: own writes are no news. */
  isAlone: () => boolean;
  /** Told of slots that others, or a former run, have changed. `isAll`: what is not among them is gone. */
  adopt: (slots: readonly Slot[], isAll: boolean) => void;
  /** Told when the store can be used again, once all in it was adopted. */
  recovered: () => void;
  /** Told when it fails. */
  failed: () => void;
}

/** The way of one instance to the slots it shares with others: writes, news, and how both go on while the store fails. */
export class StoreLink {
  readonly #writer: SlotWriter;
  readonly #unwatch: () => void;
  /** All changes up to this one are known. */
  #version = 0;
  #isFailing = false;
  #isClosed = false;
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #readAt = -Infinity;

  constructor(private readonly options: StoreLinkOptions) {
    this.#writer = new SlotWriter(options.slots, options.owner);
    this.#unwatch = options.slots.watchSlots(options.owner, () => this.#hear());
  }

  /** True while all goes on in memory. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** @throws RvmError STORE_FAILED; then all goes on in memory for a while */
  async put(writes: readonly SlotWrite[], isUrgent: boolean): Promise<SlotOutcome[]> {
    try {
      const outcomes = await this.#writer.put(writes, isUrgent);
      for (const { slot, written } of outcomes)
        if (written && slot?.version === this.#version + 1) this.#version = slot.version;
      return outcomes;
    } catch (error) {
      this.#fail();
      throw error;
    }
  }

  /** What others have changed is adopted, or it cannot be for now. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read(this.#version).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** @param patience milliseconds for what still waits to be written */
  async close(patience: number): Promise<void> {
    this.#isClosed = true;
    this.#unwatch();
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    await withTimeout(this.#writer.idle(), patience);
  }

  async #read(since: number): Promise<void> {
    this.#readAt = performance.now();
    const { slots, owner } = this.options;
    const changed = await withTimeout(slots.slots(owner, since), READ_TIMEOUT_MS).catch(() => undefined);
    if (this.#isClosed) return;
    if (changed === undefined) return this.#fail();
    this.#version = changed.isAll ? changed.version : Math.max(this.#version, changed.version);
    if (changed.isAll || changed.slots.length > 0) this.options.adopt(changed.slots, changed.isAll);
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.options.recovered();
  }

  #hear(): void {
    if (this.#timer !== undefined || this.#isFailing || this.#isClosed || this.options.isAlone()) return;
    const pause = Math.max(0, this.#readAt + REFRESH_EVERY - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.refresh();
    }, pause);
  }

  #fail(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#retry);
    // All is read again: what was written last may be there or not.
    this.#version = 0;
    this.#retry = setTimeout(() => void this.refresh(), RETRY);
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.options.failed();
  }
}

/** Milliseconds that writes wait for each other which nobody waits for. */
const GATHERED_FOR = 50;
/** Milliseconds that an alarm waits for the store before it goes out all the same. */
const WRITE_TIMEOUT_MS = 1500;
/** Writes in one transaction. */
const MOST = 500;

interface Asked {
  isUrgent: boolean;
  writes: readonly SlotWrite[];
  resolve: (outcomes: SlotOutcome[]) => void;
  reject: (error: unknown) => void;
}

/** Writes the slots of an owner, one transaction after the other, each with what was asked for meanwhile. */
class SlotWriter {
  #asked: Asked[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;

  constructor(
    private readonly slots: Slots,
    private readonly owner: string,
  ) {}

  /**
   * @param isUrgent false for what may wait a moment for others
   * @throws RvmError STORE_FAILED where the store fails, or does not answer in time
   */
  put(writes: readonly SlotWrite[], isUrgent: boolean): Promise<SlotOutcome[]> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ isUrgent, writes, resolve, reject });
      this.#plan(isUrgent);
    });
  }

  /** Resolves once nothing waits any more; that happens at once from now on. */
  async idle(): Promise<void> {
    while (this.#asked.length > 0 || this.#isWriting) {
      this.#plan(true);
      await sleep(1);
    }
  }

  #plan(isUrgent: boolean): void {
    if (this.#isWriting || (this.#timer !== undefined && !isUrgent)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#write(), isUrgent ? 0 : GATHERED_FOR);
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    this.#isWriting = true;
    const asked = this.#take();
    try {
      const writes = asked.flatMap((each) => each.writes);
      const outcomes = await withTimeout(this.slots.putSlots(this.owner, writes), WRITE_TIMEOUT_MS);
      if (outcomes === undefined) throw new RvmError('STORE_FAILED', 'The inbox does not answer.');
      let from = 0;
      for (const { writes: own, resolve } of asked) {
        resolve(outcomes.slice(from, from + own.length));
        from += own.length;
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
    this.#isWriting = false;
    if (this.#asked.length > 0) this.#plan(this.#asked.some(({ isUrgent }) => isUrgent));
  }

  /** What one transaction takes. */
  #take(): Asked[] {
    let size = 0;
    const end = this.#asked.findIndex(({ writes }) => (size += writes.length) > MOST);
    return this.#asked.splice(0, end < 0 ? this.#asked.length : Math.max(1, end));
  }
}

type Written = Pick<SlotWrite, 'value' | 'lasts'>;

/** How the state of a group stands in a slot. Times in it are relative: clocks of machines differ. */
interface StoredLevel {
  level: Level;
  raiser: Raiser | undefined;
  /** The life of the instance that wrote it. */
  by: string;
}

/** Times are milliseconds of the clock that `now` is of. */
export function levelValue({ level, raiser, by }: StoredLevel, within: number, now: number): Written {
  const common = { by, ...(raiser && { id: raiser.id, alarm: raiser.alarm }) };
  if (level.raised) return { value: { ...common, raised: true }, lasts: lasting(level.until - now) };
  if (level.counted.length === 0) return { value: { ...common, raised: false } };
  const lasts = lasting(within);
  const counted = level.counted.map(({ id, at }) => [id, Math.round(now - at)]);
  return { value: { ...common, raised: false, counted, lasts }, lasts };
}

/** Undefined where another, perhaps newer package has written what cannot be read. */
export function storedLevel({ value, left = 0 }: Slot, now: number): StoredLevel | undefined {
  if (!isRecord(value)) return undefined;
  const { raised, by, id, alarm, counted, lasts } = value;
  const writtenAt = typeof lasts === 'number' ? now + left - lasts : now;
  return {
    level: {
      raised: raised === true,
      until: raised === true ? now + left : 0,
      counted: Array.isArray(counted) ? counted.flatMap((each) => storedCount(each, writtenAt)) : [],
    },
    raiser: typeof id === 'string' && typeof alarm === 'string' ? { id, alarm } : undefined,
    by: typeof by === 'string' ? by : '',
  };
}

/** Ends of levels, as one life of an instance has extended them: flat, for there may be many, every few seconds. */
export function endsValue(groups: readonly string[], ends: readonly number[], now: number): Written {
  const left = ends.map((end) => Math.round(end - now));
  const lasts = lasting(left.reduce((latest, each) => Math.max(latest, each), 0));
  return { value: { lasts, groups, left }, lasts };
}

/** By group. */
export function storedEnds({ value, left = 0 }: Slot, now: number): Map<string, number> {
  const ends = new Map<string, number>();
  if (!isRecord(value) || typeof value.lasts !== 'number') return ends;
  const { groups, left: ofGroups } = value;
  if (!Array.isArray(groups) || !Array.isArray(ofGroups)) return ends;
  const writtenAt = now + left - value.lasts;
  groups.forEach((group: unknown, index) => {
    const ofGroup: unknown = ofGroups[index];
    if (typeof group === 'string' && typeof ofGroup === 'number') ends.set(group, writtenAt + ofGroup);
  });
  return ends;
}

function lasting(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds));
}

function storedCount(value: unknown, writtenAt: number): Counted[] {
  if (!Array.isArray(value)) return [];
  const [id, before] = value as unknown[];
  return typeof id === 'string' && typeof before === 'number' ? [{ id, at: writtenAt - before }] : [];
}

/** What an alarm state needs of an inbox. */
export type Slots = Pick<Inbox, 'slots' | 'putSlots' | 'watchSlots'>;
