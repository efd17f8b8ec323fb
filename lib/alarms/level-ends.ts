import type { Slot, SlotWrite } from '../inbox/slot';
import type { Group } from './level';
import { endsValue, storedEnds, type StoreLink } from './slot-store';

/** Prefix of the slots with the ends that one run has extended. */
export const ENDS = 'ends/';
/** Milliseconds until an extension is written without request: a tenth of the hold, within these bounds. */
const [SOONEST, LATEST] = [1000, 3000];
/** Milliseconds until an extension is written where an event waits for it before it is settled. */
const SOON = 50;
/** Groups whose ends share one slot. */
const IN_ONE = 500;
/** Milliseconds after which reported ends of another run are deleted. */
const FORGET_AFTER = 60 * 60 * 1000;

/** The groups of one slot. */
interface Part {
  groups: Set<Group>;
  isChanged: boolean;
}

/** Extensions that are written together. */
interface Batch {
  groups: Set<Group>;
  start: () => void;
  written: Promise<boolean>;
}

/** What another run has reported in one slot. */
interface Reported {
  by: string;
  version: number;
  until: number;
  ends: ReadonlyMap<string, number>;
}

/**
 * End times of levels that have been extended. Those of this run are written in batches every few seconds: one write per
 * extension would dominate the cost. Those of other runs are read.
 */
export class LevelEnds {
  readonly #parts: Part[] = [];
  readonly #partOf = new Map<Group, Part>();
  readonly #pause: number;
  #pending: Batch | undefined;
  #writing: Batch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writeAt = Infinity;
  /** By name of the slot. */
  readonly #reported = new Map<string, Reported>();

  /**
   * @param run id of this run of this instance
   * @param hold duration of its levels, in milliseconds
   */
  constructor(
    private readonly link: StoreLink,
    private readonly run: string,
    hold: number,
  ) {
    this.#pause = Math.min(LATEST, Math.max(SOONEST, hold / 10));
  }

  /** Notes that the level of a group of this run ends later now. */
  extended(group: Group): void {
    this.#partFor(group).isChanged = true;
    this.#pending ??= this.#begin();
    this.#pending.groups.add(group);
  }

  /** Resolves with whether the end of the level is durable; writes it soon if it is pending. */
  async isDurable(group: Group): Promise<boolean> {
    const writing = this.#writing;
    if (writing?.groups.has(group) === true && !(await writing.written)) return false;
    if (this.#pending?.groups.has(group) !== true) return !group.isAhead;
    this.#writeWithin(SOON);
    return this.#pending.written;
  }

  /** Writes the pending batch at once. Resolves when that is done, or has failed. */
  async flush(): Promise<void> {
    this.#writeWithin(0);
    await this.#pending?.written;
  }

  /** The end that another run has reported of a group; undefined where it has reported none. */
  endOf(by: string, group: string): number | undefined {
    for (const reported of this.#reported.values()) {
      const end = reported.by === by ? reported.ends.get(group) : undefined;
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /** @returns the run that wrote the slot, and its end times by group */
  adopt(slot: Slot): Pick<Reported, 'by' | 'ends'> {
    const { name, version, left = 0 } = slot;
    const now = performance.now();
    const by = name.slice(ENDS.length, name.lastIndexOf('/'));
    const ends = storedEnds(slot, now);
    if (slot.value === undefined) this.#reported.delete(name);
    else this.#reported.set(name, { by, version, until: now + left, ends });
    return { by, ends };
  }

  /** Forgets ends that passed long ago, because their run is gone. @returns removals for the store */
  tidy(now: number): SlotWrite[] {
    const over = [...this.#reported].filter(([, { until }]) => until + FORGET_AFTER < now);
    for (const [name] of over) this.#reported.delete(name);
    return over.map(([name, { version }]) => ({ name, value: undefined, expected: version }));
  }

  #begin(): Batch {
    const groups = new Set<Group>();
    const { promise, resolve: start } = Promise.withResolvers<void>();
    this.#writeAt = performance.now() + this.#pause;
    this.#timer = setTimeout(start, this.#pause);
    return { groups, start, written: promise.then(() => this.#write(groups)) };
  }

  #writeWithin(pause: number): void {
    const sooner = performance.now() + pause;
    if (this.#pending === undefined || sooner >= this.#writeAt) return;
    this.#writeAt = sooner;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#pending.start, pause);
  }

  async #write(groups: ReadonlySet<Group>): Promise<boolean> {
    this.#writing = this.#pending;
    this.#pending = undefined;
    const now = performance.now();
    const writes = this.#parts.flatMap((part, index) =>
      part.isChanged ? [this.#writeOf(part, index, now)] : [],
    );
    try {
      await this.link.put(writes, true);
      return true;
    } catch {
      // The levels are written with their ends once the store is back.
      for (const group of groups) if (this.#isOurs(group)) group.isAhead = true;
      return false;
    }
  }

  #writeOf(part: Part, index: number, now: number): SlotWrite {
    part.isChanged = false;
    for (const group of part.groups) {
      if (this.#isOurs(group)) continue;
      part.groups.delete(group);
      this.#partOf.delete(group);
    }
    return { name: `${ENDS}${this.run}/${index}`, ...endsValue([...part.groups], now) };
  }

  #isOurs({ level, by }: Group): boolean {
    return level.raised && by === this.run;
  }

  #partFor(group: Group): Part {
    const known = this.#partOf.get(group);
    if (known !== undefined) return known;
    let part = this.#parts.find(({ groups }) => groups.size < IN_ONE);
    if (part === undefined) this.#parts.push((part = { groups: new Set(), isChanged: true }));
    part.groups.add(group);
    this.#partOf.set(group, part);
    return part;
  }
}
