import { ChangeListeners } from '../concurrency/signals';
import { withTimeout } from '../concurrency/timers';
import { RvmError } from '../error';
import type { ChangedSlots, Slot, SlotOutcome, Slots, SlotWrite } from './slot';
import type { StoreHealth } from './store-health';
import {
  type AnyStore,
  type SlotRow,
  type SlotRowWrite,
  type StoreCalls,
  storeFailed,
  TOO_SLOW,
} from './store/port';

interface SlotPolling {
  /** By owner: the version of what has changed last. */
  versions: (owners: string[]) => Promise<Record<string, number>>;
  /** Between two questions, in milliseconds. */
  every: number;
}

/** Who is told of changes of slots, by owner. Where others may change them, they are looked for, too: not every notice comes through. */
export class SlotListeners {
  readonly #byOwner = new Map<string, ChangeListeners>();
  readonly #known = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isAsking = false;
  #closed = false;

  /** @param polling absent where nobody else changes them */
  constructor(private readonly polling?: SlotPolling) {}

  add(owner: string, changed: () => void): () => void {
    const watchers = this.#byOwner.get(owner) ?? new ChangeListeners();
    this.#byOwner.set(owner, watchers);
    const remove = watchers.add(changed);
    this.#start();
    return () => {
      remove();
      if (watchers.isEmpty && this.#byOwner.get(owner) === watchers) this.#forget(owner);
    };
  }

  tell(owner: string): void {
    this.#byOwner.get(owner)?.notify();
  }

  /** After a time in which changes may have been missed. */
  tellAll(): void {
    for (const watchers of this.#byOwner.values()) watchers.notify();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#byOwner.clear();
  }

  #forget(owner: string): void {
    this.#byOwner.delete(owner);
    this.#known.delete(owner);
    if (this.#byOwner.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #start(): void {
    const { polling } = this;
    if (polling === undefined || this.#closed) return;
    this.#timer ??= setInterval(() => this.#poll(polling), polling.every).unref();
  }

  #poll(polling: SlotPolling): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    polling
      .versions([...this.#byOwner.keys()])
      .then((versions) => this.#compare(versions))
      // A store that fails is asked the next time.
      .catch(() => undefined)
      .finally(() => (this.#isAsking = false));
  }

  /** At the first look nobody knows whether it has changed since it was read. */
  #compare(versions: Readonly<Record<string, number>>): void {
    for (const owner of this.#byOwner.keys()) {
      const version = versions[owner] ?? 0;
      if (this.#known.get(owner) === version) continue;
      this.#known.set(owner, version);
      this.tell(owner);
    }
  }
}

/** Of a name, and of an owner, in characters. */
const LONGEST_NAME = 500;
/** Of a value as JSON, in characters. */
const LARGEST_VALUE = 1024 * 1024;
/** The longest that a slot lasts, in milliseconds: thirty years. */
const LONGEST = 30 * 365 * 24 * 60 * 60 * 1000;
/** Questions that the store owes an answer, and characters of values in them, at which no more are asked. */
const MOST_WAITING = 1000;
const MOST_VALUES = 32 * LARGEST_VALUE;

type SlotCall = 'slots' | 'putSlots' | 'slotOwners' | 'dropSlots';

interface KeptSlotsOptions {
  health: Pick<StoreHealth, 'state'>;
  watchers: SlotListeners;
  /** Time for a store that was open to answer, in milliseconds. */
  timeoutMs: number;
}

/** The slots in the store of an inbox. Nothing is kept beside a store that fails, and no more than so much waits for one that hangs. */
export class SlotStore implements Slots {
  #waiting = 0;
  #values = 0;
  /** By owner: the latest version that was given; and the one before which the store may not be the same any more. */
  readonly #given = new Map<string, number>();
  readonly #doubtful = new Map<string, number>();

  constructor(
    private readonly store: AnyStore,
    private readonly options: KeptSlotsOptions,
  ) {}

  async slots(owner: string, since = 0): Promise<ChangedSlots> {
    const isSure = since > (this.#doubtful.get(owner) ?? 0);
    const { version, isAll, slots } = await this.#ask('slots', {
      owner: named(owner),
      since: isSure ? since : 0,
    });
    this.#gave(owner, version);
    return { version, isAll, slots: slots.map(slotOf) };
  }

  /**
   * The store was opened, perhaps another one than before: an older copy of its file, a standby without the latest commits, in
   * which the same versions may be of other changes. Who asks from one of before is given all.
   */
  storeOpened(): void {
    for (const [owner, version] of this.#given) this.#doubtful.set(owner, version);
    this.options.watchers.tellAll();
  }

  async putSlots(owner: string, writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    const rows = writes.map(rowOf);
    if (rows.length === 0) return [];
    const outcomes = await this.#ask('putSlots', { owner: named(owner), writes: rows }, sizeOf(rows));
    for (const { slot } of outcomes) this.#gave(owner, slot?.version ?? 0);
    return outcomes.map(({ written, slot }, index) => ({
      written,
      slot: slot && { ...slotOf(slot), ...(written && { value: writes[index]?.value }) },
    }));
  }

  slotOwners(prefix: string): Promise<string[]> {
    return this.#ask('slotOwners', prefix);
  }

  async dropSlots(owner: string): Promise<void> {
    await this.#ask('dropSlots', { owner: named(owner) });
  }

  watchSlots(owner: string, changed: () => void): () => void {
    return this.options.watchers.add(owner, changed);
  }

  #gave(owner: string, version: number): void {
    if (version > (this.#given.get(owner) ?? 0)) this.#given.set(owner, version);
  }

  /** @param size characters of the values in it */
  async #ask<Name extends SlotCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
    size = 0,
  ): Promise<StoreCalls[Name]['give']> {
    if (this.#isFull(size)) throw storeFailed(TOO_SLOW);
    const asking = this.#asked(name, take, size).then((give) => ({ give }));
    for (;;) {
      const answer = await withTimeout(asking, this.options.timeoutMs);
      if (answer !== undefined) return answer.give;
      const { durable, fault = TOO_SLOW } = this.options.health.state;
      // One that is being opened has not failed: a large file takes its time.
      if (durable !== undefined) throw storeFailed(fault);
    }
  }

  /** What is larger than all that may wait goes alone. */
  #isFull(size: number): boolean {
    return this.#waiting >= MOST_WAITING || (this.#values > 0 && this.#values + size > MOST_VALUES);
  }

  /** Counts until it is answered, however late; and what was written too late is told all the same. */
  async #asked<Name extends SlotCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
    size: number,
  ): Promise<StoreCalls[Name]['give']> {
    this.#waiting += 1;
    this.#values += size;
    try {
      const give = await this.store.call(name, take);
      if (typeof take === 'object' && (name === 'putSlots' || name === 'dropSlots'))
        this.options.watchers.tell(take.owner);
      return give;
    } finally {
      this.#waiting -= 1;
      this.#values -= size;
    }
  }
}

function sizeOf(rows: readonly SlotRowWrite[]): number {
  return rows.reduce((sum, { value = '' }) => sum + value.length, 0);
}

/** @throws RvmError BAD_INPUT */
function named(name: string): string {
  if (name.length > 0 && name.length <= LONGEST_NAME) return name;
  throw new RvmError(
    'BAD_INPUT',
    `A name of what is kept in the inbox has ${name.length} characters: give it one of 1 to ${LONGEST_NAME}.`,
  );
}

/** @throws RvmError BAD_INPUT */
function rowOf({ name, expected, value, lasts }: SlotWrite): SlotRowWrite {
  return {
    name: named(name),
    ...(expected !== undefined && { expected }),
    ...(value !== undefined && { value: jsonOf(name, value) }),
    ...(lasts !== undefined && { lasts: durationOf(name, lasts) }),
  };
}

function durationOf(name: string, lasts: number): number {
  if (!Number.isNaN(lasts)) return Math.min(Math.max(0, Math.round(lasts)), LONGEST);
  throw new RvmError(
    'BAD_INPUT',
    `How long "${name}" is to be kept in the inbox is ${lasts}: give it a number of milliseconds.`,
  );
}

function jsonOf(name: string, value: unknown): string {
  const json = inJson(value);
  if (json !== undefined && json.length <= LARGEST_VALUE) return json;
  const fault =
    json === undefined
      ? 'is no JSON: give it plain values'
      : `has ${json.length} characters as JSON: make it smaller, ${LARGEST_VALUE} at most`;
  throw new RvmError('BAD_INPUT', `What is to be kept of "${name}" in the inbox ${fault}.`);
}

function inJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    // A circle, or a number of no kind that JSON knows.
    return undefined;
  }
}

function slotOf({ value, ...row }: SlotRow): Slot {
  return { ...row, value: value === undefined ? undefined : valueIn(value) };
}

function valueIn(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
