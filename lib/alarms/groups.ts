import type { Slot, SlotWrite } from '../inbox/slot';
import { DOWN, type Group, type Level, newGroup } from './level';
import { UNKNOWN_GROUP } from './settings';
import { endsValue, storedEnds, storedLevel, type StoreLink } from './slot-store';

const LEVEL = 'group/';
const EVENT = 'event/';
/** Largest number of groups: each is reported at the start. */
const MOST = 10_000;
/**
 * Characters of an event as JSON in state messages: the upper limit while there are few groups, and the lower limit for any
 * number of groups.
 */
const LARGEST_EVENT = 400_000;
const LEAST_EVENT = 8000;
/** Characters of the stored events of all groups together, approximately. */
const EVENTS = 20_000_000;
/** Milliseconds that another instance has to report that it extended or released a level. */
const SLACK = 5000;
/** Milliseconds after which reported ends of another run are deleted. */
const FORGET_AFTER = 60 * 60 * 1000;

export function levelSlot({ name }: Group): string {
  return LEVEL + name;
}

export function raisedSlot({ name }: Group): string {
  return EVENT + name;
}

interface News {
  group: Group;
  /** True where the group is raised, but was reported as released while the store failed. */
  isContrary: boolean;
}

/** The groups of an alarm state that this instance knows; bounded in number. */
export class Groups {
  readonly #groups = new Map<string, Group>();
  readonly #reported = new ReportedEnds();

  /**
   * @param instance id of this run of the instance
   * @param mayLive whether another run may still be active and extend the levels that it raised
   */
  constructor(
    private readonly instance: string,
    private readonly mayLive: (life: string) => boolean,
    private readonly most = MOST,
  ) {}

  all(): IterableIterator<Group> {
    return this.#groups.values();
  }

  /** Limit in characters of the event (JSON) that raises a group: each event is stored in memory and in the inbox. */
  get largestEvent(): number {
    return Math.max(LEAST_EVENT, Math.min(LARGEST_EVENT, EVENTS / this.#groups.size));
  }

  /** The group, or a new one that is not stored. */
  peek(name: string): Group {
    return this.#groups.get(name) ?? newGroup(name);
  }

  /** The group, stored from now on; the group `unknown` where the limit is reached. */
  keep(name: string): Group {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    if (this.#groups.size >= this.most && name !== UNKNOWN_GROUP) return this.keep(UNKNOWN_GROUP);
    const group = newGroup(name);
    this.#groups.set(name, group);
    return group;
  }

  /**
   * At the limit, removes the oldest quiet group.
   * @returns the removed group and its removals for the store
   */
  makeCapacityFor(name: string): { group: Group; writes: SlotWrite[] } | undefined {
    if (this.#groups.size < this.most || this.#groups.has(name)) return undefined;
    const group = [...this.#groups.values()].find(isQuiet);
    if (group === undefined) return undefined;
    this.#groups.delete(group.name);
    const names = [levelSlot(group), raisedSlot(group)];
    return { group, writes: names.map((slot) => ({ name: slot, value: undefined })) };
  }

  /**
   * Takes in a slot written by another instance or a former run.
   * @returns the group whose level has changed
   */
  adopt(slot: Slot, now: number): News | undefined {
    if (slot.name.startsWith(EVENT)) this.#adoptRaised(slot);
    if (slot.name.startsWith(ENDS)) this.#adoptEnds(slot, now);
    return slot.name.startsWith(LEVEL) ? this.#adoptLevel(slot, now) : undefined;
  }

  /** @param slots all slots of the store; groups without one are removed, unless raised or not written yet */
  retain(slots: readonly Slot[]): void {
    const there = new Set(slots.map(({ name }) => name));
    for (const group of this.#groups.values()) {
      if (there.has(levelSlot(group))) continue;
      group.version = 0;
      group.raisedVersion = 0;
      if (group.level.raised) group.isAhead = true;
      else if (!group.isAhead && group.queue === undefined) this.#groups.delete(group.name);
    }
  }

  /** Deletes reported ends of runs that are gone. @returns removals for the store */
  tidy(now: number): SlotWrite[] {
    return this.#reported.tidy(now, FORGET_AFTER);
  }

  #adoptEnds(slot: Slot, now: number): void {
    const { by, ends } = this.#reported.adopt(slot, now);
    for (const [name, end] of ends) {
      const group = this.#groups.get(name);
      if (group?.by === by && by !== this.instance && group.level.raised && end > group.level.until)
        group.level = { ...group.level, until: end };
    }
  }

  #adoptRaised(slot: Slot): void {
    const group = this.keep(slot.name.slice(EVENT.length));
    if (slot.version === group.raisedVersion) return;
    group.raisedVersion = slot.value === undefined ? 0 : slot.version;
    if (!group.isAhead && typeof slot.value === 'string') group.raised = slot.value;
  }

  #adoptLevel(slot: Slot, now: number): News | undefined {
    const group = this.keep(slot.name.slice(LEVEL.length));
    if (slot.version === group.version) return undefined;
    const { level: stored = DOWN, raiser, by = '' } = storedLevel(slot, now) ?? {};
    const level = stored.raised
      ? { ...stored, until: Math.max(stored.until, this.#reported.endOf(by, group.name) ?? 0) }
      : stored;
    group.version = slot.value === undefined ? 0 : slot.version;
    const isOurs = by === this.instance;
    // A change made while the store failed wins, unless another instance has raised the group for longer.
    if (group.isAhead && (isOurs || !lastsLonger(level, group.level))) return undefined;
    const isContrary = group.isAhead && !group.level.raised;
    const slack = isOurs || !this.mayLive(by) ? 0 : SLACK;
    Object.assign(group, { level, raiser, by, slack, isAhead: false });
    return { group, isContrary };
  }
}

/** True where removing the group loses nothing. */
function isQuiet({ level, isAhead, queue }: Group): boolean {
  return !level.raised && level.counted.length === 0 && !isAhead && queue === undefined;
}

function lastsLonger(level: Level, other: Level): boolean {
  return level.raised && (!other.raised || level.until > other.until);
}

const ENDS = 'ends/';
/** Milliseconds until an extension is written without request: a tenth of the hold, within these bounds. */
const [SOONEST, LATEST] = [1000, 3000];
/** Milliseconds until an extension is written where an event waits for it before it is settled. */
const SOON = 50;
/** Groups whose ends share one slot. */
const IN_ONE = 500;

interface Part {
  groups: Set<Group>;
  isChanged: boolean;
}

/** The next batch. */
interface Pending {
  groups: Set<Group>;
  written: Promise<boolean>;
  /** Starts the write within this time, in milliseconds. */
  within: (pause: number) => void;
}

/**
 * End times this instance has extended, written in batches every few seconds: one write per extension would dominate the cost.
 */
export class OwnEnds {
  readonly #parts: Part[] = [];
  readonly #partOf = new Map<Group, Part>();
  readonly #pause: number;
  #pending: Pending | undefined;
  #writing: Pending | undefined;

  /**
   * @param name id of this run of this instance
   * @param hold duration of its levels, in milliseconds
   */
  constructor(
    private readonly link: StoreLink,
    private readonly name: string,
    hold: number,
  ) {
    this.#pause = Math.min(LATEST, Math.max(SOONEST, hold / 10));
  }

  /** Notes that the level of a group of this instance ends later now. */
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
    this.#pending.within(SOON);
    return this.#pending.written;
  }

  /** Writes the pending batch at once. Resolves when that is done, or has failed. */
  async flush(): Promise<void> {
    this.#pending?.within(0);
    await this.#pending?.written;
  }

  #begin(): Pending {
    const groups = new Set<Group>();
    const begun = performance.now();
    let within = (_pause: number): void => undefined;
    const written = new Promise<void>((resolve) => {
      let timer = setTimeout(resolve, this.#pause);
      let at = begun + this.#pause;
      within = (pause) => {
        const sooner = performance.now() + pause;
        if (sooner >= at) return;
        at = sooner;
        clearTimeout(timer);
        timer = setTimeout(resolve, pause);
      };
    }).then(() => this.#write(groups));
    return { groups, written, within };
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
      for (const group of groups) if (group.level.raised && group.by === this.name) group.isAhead = true;
      return false;
    }
  }

  #writeOf(part: Part, index: number, now: number): SlotWrite {
    part.isChanged = false;
    const groups: string[] = [];
    const ends: number[] = [];
    for (const group of part.groups) {
      if (group.level.raised && group.by === this.name) {
        groups.push(group.name);
        ends.push(group.level.until);
      } else this.#leave(group, part);
    }
    return { name: `${ENDS}${this.name}/${index}`, ...endsValue(groups, ends, now) };
  }

  #partFor(group: Group): Part {
    const known = this.#partOf.get(group);
    if (known !== undefined) return known;
    const part = this.#parts.find(({ groups }) => groups.size < IN_ONE) ?? {
      groups: new Set(),
      isChanged: true,
    };
    if (!this.#parts.includes(part)) this.#parts.push(part);
    part.groups.add(group);
    this.#partOf.set(group, part);
    return part;
  }

  #leave(group: Group, part: Part): void {
    part.groups.delete(group);
    this.#partOf.delete(group);
  }
}

/** End times that other runs of instances have reported. */
class ReportedEnds {
  /** By name of the slot. */
  readonly #reported = new Map<
    string,
    { by: string; version: number; until: number; ends: Map<string, number> }
  >();

  /** Undefined where that run has reported nothing of the group. */
  endOf(by: string, group: string): number | undefined {
    for (const reported of this.#reported.values()) {
      const end = reported.by === by ? reported.ends.get(group) : undefined;
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /** @returns the run that wrote the slot, and its end times by group */
  adopt(slot: Slot, now: number): { by: string; ends: ReadonlyMap<string, number> } {
    const { name, version, left = 0 } = slot;
    const by = name.slice(ENDS.length, name.lastIndexOf('/'));
    const ends = storedEnds(slot, now);
    if (slot.value === undefined) this.#reported.delete(name);
    else this.#reported.set(name, { by, version, until: now + left, ends });
    return { by, ends };
  }

  /**
   * Removes slots whose ends passed more than `after` milliseconds ago: their run is gone.
   * @returns removals for the store
   */
  tidy(now: number, after: number): SlotWrite[] {
    const over = [...this.#reported].filter(([, { until }]) => until + after < now);
    return over.map(([name, { version }]) => {
      this.#reported.delete(name);
      return { name, value: undefined, expected: version };
    });
  }
}
