import type { Slot, SlotOutcome, SlotWrite } from '../inbox/slot';

const ARMED = 'armed';
const TEST = 'test';
/** Groups that may be armed, disarmed or on test by themselves. */
const MOST = 10_000;

/** Whether what happens in a group raises it. Unless told otherwise it does. Times are milliseconds. */
export class Arming {
  /** By group; '' for all. */
  readonly #armed = new Map<string, boolean>();
  /** Ends, by group; '' for all. */
  readonly #tests = new Map<string, number>();
  /** What the store does not have yet, by name of the slot. */
  readonly #ahead = new Map<string, SlotWrite>();
  /** Versions of slots: what is over is removed only where nobody has written it anew. */
  readonly #versions = new Map<string, number>();

  /** False where there are too many groups that something was said of by itself. */
  hasRoomFor(group: string): boolean {
    const isKnown = this.#armed.has(group) || this.#tests.has(group);
    return group === '' || isKnown || this.#armed.size + this.#tests.size < MOST;
  }

  isArmed(group: string): boolean {
    if (this.#armed.size === 0) return true;
    return this.#armed.get(group) ?? this.#armed.get('') ?? true;
  }

  isOnTest(group: string, now: number): boolean {
    if (this.#tests.size === 0) return false;
    return (this.#tests.get(group) ?? this.#endOf('')) > now;
  }

  /** Groups that are not armed; '' where all are not unless told otherwise. */
  disarmed(): string[] {
    return [...this.#armed].filter(([, armed]) => !armed).map(([group]) => group);
  }

  /** Ends of tests by group; '' for all. */
  tests(now: number): Map<string, number> {
    return new Map([...this.#tests].filter(([, end]) => end > now));
  }

  /** When the next test is over, and with it what is known of it. */
  nextEnd(): number {
    const all = this.#endOf('');
    return Math.min(Infinity, ...[...this.#tests.values()].map((end) => Math.max(end, all)));
  }

  /** @param group '' = all, whatever was said of one of them before */
  arm(group: string, armed: boolean): SlotWrite[] {
    const changed = group === '' ? [...this.#armed.keys()] : [];
    for (const each of changed) this.#armed.delete(each);
    // What holds for all need not be said of one.
    if (armed === (group === '' || this.isArmed(''))) this.#armed.delete(group);
    else this.#armed.set(group, armed);
    return this.#written([...new Set([...changed, group])].map((each) => slotName(ARMED, each)));
  }

  /**
   * @param group '' = all, whatever was said of one of them before
   * @param end `now` ends the test
   */
  test(group: string, end: number, now: number): SlotWrite[] {
    const changed = group === '' ? [...this.#tests.keys()] : [];
    for (const each of changed) this.#tests.delete(each);
    // A test of one group that is over is not taken up again by that of all.
    if (end > now || this.#endOf('') > now) this.#tests.set(group, end);
    else this.#tests.delete(group);
    return this.#written(
      [...new Set([...changed, group])].map((each) => slotName(TEST, each)),
      now,
    );
  }

  /** Tests that are over. @returns what is to be removed, where it is still the same */
  tidy(now: number): SlotWrite[] {
    const isOver = this.#endOf('') <= now;
    const over = [...this.#tests].filter(([, end]) => isOver && end <= now).map(([group]) => group);
    for (const group of over) this.#tests.delete(group);
    return over.flatMap((group) => {
      const name = slotName(TEST, group);
      const expected = this.#versions.get(name);
      return expected === undefined ? [] : [{ name, value: undefined, expected }];
    });
  }

  /** Of the test of a group by itself, or of all. */
  #endOf(group: string): number {
    return this.#tests.get(group) ?? -Infinity;
  }

  /** What the store does not have yet. */
  unwritten(now: number): SlotWrite[] {
    return this.#written([...this.#ahead.keys()], now);
  }

  /** The store has it, unless something else was said meanwhile. */
  written(writes: readonly SlotWrite[], outcomes: readonly SlotOutcome[]): void {
    writes.forEach((write, index) => {
      const version = outcomes[index]?.slot?.version;
      if (version !== undefined) this.#versions.set(write.name, version);
      if (this.#ahead.get(write.name) === write) this.#ahead.delete(write.name);
    });
  }

  /** True where it was a slot of this. */
  adopt({ name, value, left = 0, version }: Slot, now: number): boolean {
    const [kind, group] = splitAt(name);
    if (kind !== ARMED && kind !== TEST) return false;
    this.#versions.set(name, version);
    if (this.#ahead.has(name)) return true;
    const isGone = value === undefined || value === null;
    if (isGone) (kind === TEST ? this.#tests : this.#armed).delete(group);
    else if (kind === TEST) this.#tests.set(group, now + left);
    else this.#armed.set(group, value !== false);
    return true;
  }

  /** @param slots all there are in the store: what is not there, is gone */
  retain(slots: readonly Slot[]): void {
    const there = new Set(slots.map(({ name }) => name));
    const isGone = (name: string): boolean => !there.has(name) && !this.#ahead.has(name);
    for (const group of this.#armed.keys()) if (isGone(slotName(ARMED, group))) this.#armed.delete(group);
    for (const group of this.#tests.keys()) if (isGone(slotName(TEST, group))) this.#tests.delete(group);
  }

  #written(names: readonly string[], now = 0): SlotWrite[] {
    const writes = names.map((name) => this.#writeOf(name, now));
    for (const write of writes) this.#ahead.set(write.name, write);
    return writes;
  }

  #writeOf(name: string, now: number): SlotWrite {
    const [kind, group] = splitAt(name);
    if (kind === ARMED) return { name, value: this.#armed.get(group) };
    const end = this.#tests.get(group);
    return end === undefined
      ? { name, value: undefined }
      : { name, value: true, lasts: Math.max(1, Math.ceil(end - now)) };
  }
}

function slotName(kind: string, group: string): string {
  return group === '' ? kind : `${kind}/${group}`;
}

function splitAt(name: string): [string, string] {
  const slash = name.indexOf('/');
  return slash < 0 ? [name, ''] : [name.slice(0, slash), name.slice(slash + 1)];
}
