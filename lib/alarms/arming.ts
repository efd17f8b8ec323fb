import type { Slot, SlotOutcome, SlotWrite } from '../inbox/slot';

const ARMED = 'armed';
const TEST = 'test';
/** Largest number of groups with an arming or test of their own. */
const MOST = 10_000;

/** Which groups are armed and on test; a group without an entry is armed. Times are milliseconds of `performance.now()`. */
export class Arming {
  /** By group; '' stands for all groups. */
  readonly #armed = new Map<string, boolean>();
  /** End of the test by group; '' stands for all groups. */
  readonly #tests = new Map<string, number>();
  /** Changes that are not stored yet, by slot name. */
  readonly #ahead = new Map<string, SlotWrite>();
  /** Versions by slot name: an expired test is removed only if no instance has written it again. */
  readonly #versions = new Map<string, number>();

  /** False where the limit of groups with an entry of their own is reached. */
  hasCapacityFor(group: string): boolean {
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

  /** Disarmed groups; '' where all are disarmed unless a group has an entry of its own. */
  disarmed(): string[] {
    return [...this.#armed].filter(([, armed]) => !armed).map(([group]) => group);
  }

  /** End of each running test by group; '' stands for all groups. */
  tests(now: number): Map<string, number> {
    return new Map([...this.#tests].filter(([, end]) => end > now));
  }

  /** When the next test entry can be removed. */
  nextEnd(): number {
    const all = this.#endOf('');
    return Math.min(Infinity, ...[...this.#tests.values()].map((end) => Math.max(end, all)));
  }

  /** @param group '' = all; replaces the entries of single groups */
  arm(group: string, armed: boolean): SlotWrite[] {
    const changed = group === '' ? [...this.#armed.keys()] : [];
    for (const each of changed) this.#armed.delete(each);
    // A group that is armed like all groups needs no entry.
    if (armed === (group === '' || this.isArmed(''))) this.#armed.delete(group);
    else this.#armed.set(group, armed);
    return this.#written([...new Set([...changed, group])].map((each) => slotName(ARMED, each)));
  }

  /**
   * @param group '' = all; replaces the entries of single groups
   * @param end `now` ends the test
   */
  test(group: string, end: number, now: number): SlotWrite[] {
    const changed = group === '' ? [...this.#tests.keys()] : [];
    for (const each of changed) this.#tests.delete(each);
    // While the test of all runs, an ended entry stays: the test of all must not apply to that group.
    if (end > now || this.#endOf('') > now) this.#tests.set(group, end);
    else this.#tests.delete(group);
    return this.#written(
      [...new Set([...changed, group])].map((each) => slotName(TEST, each)),
      now,
    );
  }

  /** Removes tests that have ended. @returns removals for the store, conditional on the known version */
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

  /** End of the test of one group, or of all (''). */
  #endOf(group: string): number {
    return this.#tests.get(group) ?? -Infinity;
  }

  /** Changes that are not stored yet. */
  unwritten(now: number): SlotWrite[] {
    return this.#written([...this.#ahead.keys()], now);
  }

  /** Marks writes as stored, except those replaced by a newer change meanwhile. */
  written(writes: readonly SlotWrite[], outcomes: readonly SlotOutcome[]): void {
    writes.forEach((write, index) => {
      const version = outcomes[index]?.slot?.version;
      if (version !== undefined) this.#versions.set(write.name, version);
      if (this.#ahead.get(write.name) === write) this.#ahead.delete(write.name);
    });
  }

  /** @returns true for a slot of arming or tests */
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

  /** @param slots all slots of the store; entries without a slot are removed */
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
