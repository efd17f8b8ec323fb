import { sleep, withTimeout } from '../concurrency/timers';
import { RvmError } from '../error';
import type { Inbox } from '../inbox/model';
import type { Slot, SlotOutcome, SlotWrite } from '../inbox/slot';
import { isRecord } from '../json/json';
import type { Counted, Group, Level, Raiser } from './level';

/** Shortest time between two reads of changes by other instances, in milliseconds. */
const REFRESH_EVERY = 250;
/** Milliseconds between two attempts while the store fails. */
const RETRY = 1000;
/** Timeout of a read in milliseconds. */
const READ_TIMEOUT_MS = 5000;
/** Milliseconds for which writes that are not urgent are collected. */
const GATHERED_FOR = 50;
/** Milliseconds that an alarm waits for the store before it is sent without it. */
const WRITE_TIMEOUT_MS = 1500;
/** Writes in one transaction. */
const MOST = 500;

interface StoreLinkOptions {
  slots: Slots;
  owner: string;
  /** True while no other instance can write: then changes need not be read. */
  isAlone: () => boolean;
  /** Called with slots that other instances or a former run have changed. `isAll`: a slot that is missing there is gone. */
  adopt: (slots: readonly Slot[], isAll: boolean) => void;
  /** Called when the store works again, after all its slots were adopted. */
  recovered: () => void;
  /** Called when the store begins to fail. */
  failed: () => void;
}

/** A request to write. */
interface PendingWrite {
  isUrgent: boolean;
  writes: readonly SlotWrite[];
  resolve: (outcomes: SlotOutcome[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Access of one instance to the shared slots: reads of changes, writes in one transaction at a time, each with all that were
 * requested meanwhile, and recovery after a failure.
 */
export class StoreLink {
  readonly #unwatch: () => void;
  /** All changes up to this one are known. */
  #version = 0;
  #isFailing = false;
  #isClosed = false;
  #reading: Promise<void> | undefined;
  #readTimer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #readAt = -Infinity;
  #pending: PendingWrite[] = [];
  #writeTimer: NodeJS.Timeout | undefined;
  #isWriting = false;

  constructor(private readonly options: StoreLinkOptions) {
    this.#unwatch = options.slots.watchSlots(options.owner, () => this.#hear());
  }

  /** True while the store fails and changes stay in memory. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /**
   * @param isUrgent false for a write that may wait to be batched
   * @throws RvmError STORE_FAILED; changes then stay in memory until the store recovers
   */
  async put(writes: readonly SlotWrite[], isUrgent: boolean): Promise<SlotOutcome[]> {
    const { promise, resolve, reject } = Promise.withResolvers<SlotOutcome[]>();
    this.#pending.push({ isUrgent, writes, resolve, reject });
    this.#planWrite(isUrgent);
    try {
      const outcomes = await promise;
      for (const { slot, written } of outcomes)
        if (written && slot?.version === this.#version + 1) this.#version = slot.version;
      return outcomes;
    } catch (error) {
      this.#fail();
      throw error;
    }
  }

  /** Reads and adopts changes of other instances. Never rejects: a failed read marks the store as failing. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read(this.#version).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** @param timeoutMs timeout for pending writes, in milliseconds */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    this.#unwatch();
    clearTimeout(this.#readTimer);
    clearTimeout(this.#retry);
    await withTimeout(this.#writeAll(), timeoutMs);
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
    if (this.#readTimer !== undefined || this.#isFailing || this.#isClosed || this.options.isAlone()) return;
    const pause = Math.max(0, this.#readAt + REFRESH_EVERY - performance.now());
    this.#readTimer = setTimeout(() => {
      this.#readTimer = undefined;
      void this.refresh();
    }, pause);
  }

  #fail(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#retry);
    // Read all slots again: the last write may have been stored or not.
    this.#version = 0;
    this.#retry = setTimeout(() => void this.refresh(), RETRY);
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.options.failed();
  }

  #planWrite(isUrgent: boolean): void {
    if (this.#isWriting || (this.#writeTimer !== undefined && !isUrgent)) return;
    clearTimeout(this.#writeTimer);
    this.#writeTimer = setTimeout(() => void this.#write(), isUrgent ? 0 : GATHERED_FOR);
  }

  async #write(): Promise<void> {
    this.#writeTimer = undefined;
    this.#isWriting = true;
    const batch = this.#nextBatch();
    try {
      const { slots, owner } = this.options;
      const writes = batch.flatMap((each) => each.writes);
      const outcomes = await withTimeout(slots.putSlots(owner, writes), WRITE_TIMEOUT_MS);
      if (outcomes === undefined) throw new RvmError('STORE_FAILED', 'The inbox does not answer.');
      let from = 0;
      for (const { writes: own, resolve } of batch) resolve(outcomes.slice(from, (from += own.length)));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#isWriting = false;
    if (this.#pending.length > 0) this.#planWrite(this.#pending.some(({ isUrgent }) => isUrgent));
  }

  /** Takes the requests for one transaction off the queue. */
  #nextBatch(): PendingWrite[] {
    let size = 0;
    const end = this.#pending.findIndex(({ writes }) => (size += writes.length) > MOST);
    return this.#pending.splice(0, end < 0 ? this.#pending.length : Math.max(1, end));
  }

  /** Writes pending requests at once, and resolves when none is left. */
  async #writeAll(): Promise<void> {
    while (this.#pending.length > 0 || this.#isWriting) {
      this.#planWrite(true);
      await sleep(1);
    }
  }
}

type Written = Pick<SlotWrite, 'value' | 'lasts'>;

/** The state of a group in a slot. Its times are relative, because clocks of machines differ. */
interface StoredLevel {
  level: Level;
  raiser: Raiser | undefined;
  /** Id of the run that wrote it. */
  by: string;
}

/** Times are milliseconds of the same clock as `now`. */
export function levelValue({ level, raiser, by }: StoredLevel, within: number, now: number): Written {
  const common = { by, ...(raiser && { id: raiser.id, alarm: raiser.alarm }) };
  if (level.raised) return { value: { ...common, raised: true }, lasts: lasting(level.until - now) };
  if (level.counted.length === 0) return { value: { ...common, raised: false } };
  const lasts = lasting(within);
  const counted = level.counted.map(({ id, at }) => [id, Math.round(now - at)]);
  return { value: { ...common, raised: false, counted, lasts }, lasts };
}

/** @returns undefined where the value cannot be read: another version of the package may have written it */
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

/** End times of levels that one run has extended. Flat arrays, because there may be many, written every few seconds. */
export function endsValue(groups: readonly Pick<Group, 'name' | 'level'>[], now: number): Written {
  const left = groups.map(({ level }) => Math.round(level.until - now));
  const lasts = lasting(Math.max(0, ...left));
  return { value: { lasts, groups: groups.map(({ name }) => name), left }, lasts };
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

/** The part of an inbox that an alarm state uses. */
export type Slots = Pick<Inbox, 'slots' | 'putSlots' | 'watchSlots'>;
