import { newGroup, type Group } from './group';
import { UNKNOWN_GROUP } from './group-name';
import { DOWN, type Level } from './level';
import { ENDS } from './own-ends';
import { storedLevel } from './slot-form';
import type { Slot, SlotWrite } from './slots';
import { ToldEnds } from './told-ends';

const LEVEL = 'group/';
const EVENT = 'event/';
/** Each is said at the start. */
const MOST = 10_000;
/** Characters of events, as JSON, that travel with states: of one while there are few groups, and of each however many there are. */
const LARGEST_EVENT = 400_000;
const LEAST_EVENT = 8000;
/** What the groups have of them in all, so about. */
const EVENTS = 20_000_000;
/** Milliseconds that another instance has to tell that it has extended a level, or has released it. */
const SLACK = 5000;
/** Milliseconds for which is kept what a life has told last. */
const FORGET_AFTER = 60 * 60 * 1000;

export function levelSlot({ name }: Group): string {
  return LEVEL + name;
}

export function raisedSlot({ name }: Group): string {
  return EVENT + name;
}

export interface News {
  group: Group;
  /** True where it is raised, and was said to be released while the store failed. */
  isContrary: boolean;
}

/** The groups of an alarm state, as far as one instance knows them. Bounded. */
export class Groups {
  readonly #groups = new Map<string, Group>();
  readonly #told = new ToldEnds();

  /**
   * @param instance this life of it
   * @param mayLive whether another life may go on, and extend what it has raised
   */
  constructor(
    private readonly instance: string,
    private readonly mayLive: (life: string) => boolean,
    private readonly most = MOST,
  ) {}

  all(): IterableIterator<Group> {
    return this.#groups.values();
  }

  /** Characters that the event may have, as JSON, which raises a group: each is held in memory, and in the inbox. */
  get largestEvent(): number {
    return Math.max(LEAST_EVENT, Math.min(LARGEST_EVENT, EVENTS / this.#groups.size));
  }

  /** One that is not kept may be looked at, and is forgotten. */
  peek(name: string): Group {
    return this.#groups.get(name) ?? newGroup(name);
  }

  /** Its place from now on; that of all that are too many where there is none left. */
  keep(name: string): Group {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    if (this.#groups.size >= this.most && name !== UNKNOWN_GROUP) return this.keep(UNKNOWN_GROUP);
    const group = newGroup(name);
    this.#groups.set(name, group);
    return group;
  }

  /** Where there is no place left: the group that is kept for longest, of those that are quiet, makes one. @returns what is to be removed */
  makeRoomFor(name: string): { group: Group; writes: SlotWrite[] } | undefined {
    if (this.#groups.size < this.most || this.#groups.has(name)) return undefined;
    const group = [...this.#groups.values()].find(isQuiet);
    if (group === undefined) return undefined;
    this.#groups.delete(group.name);
    const names = [levelSlot(group), raisedSlot(group)];
    return { group, writes: names.map((slot) => ({ name: slot, value: undefined })) };
  }

  /** What another instance, or a former run, has written. @returns the group whose level is news */
  adopt(slot: Slot, now: number): News | undefined {
    if (slot.name.startsWith(EVENT)) this.#adoptRaised(slot);
    if (slot.name.startsWith(ENDS)) this.#adoptEnds(slot, now);
    return slot.name.startsWith(LEVEL) ? this.#adoptLevel(slot, now) : undefined;
  }

  /** @param slots all there are in the store: what is not there, is gone, but for what is raised */
  retain(slots: readonly Slot[]): void {
    const there = new Set(slots.map(({ name }) => name));
    for (const group of this.#groups.values()) {
      if (there.has(levelSlot(group))) continue;
      group.version = 0;
      group.raisedVersion = 0;
      if (group.level.raised) group.isAhead = true;
      else if (!group.isAhead && group.line === undefined) this.#groups.delete(group.name);
    }
  }

  /** What lives that are gone have told of ends. @returns what is to be removed */
  tidy(now: number): SlotWrite[] {
    return this.#told.tidy(now, FORGET_AFTER);
  }

  #adoptEnds(slot: Slot, now: number): void {
    const { by, ends } = this.#told.adopt(slot, now);
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
      ? { ...stored, until: Math.max(stored.until, this.#told.endOf(by, group.name) ?? 0) }
      : stored;
    group.version = slot.value === undefined ? 0 : slot.version;
    const isOurs = by === this.instance;
    // What was done while the store failed goes there; unless it is raised there by another, and for longer.
    if (group.isAhead && (isOurs || !lastsLonger(level, group.level))) return undefined;
    const isContrary = group.isAhead && !group.level.raised;
    const slack = isOurs || !this.mayLive(by) ? 0 : SLACK;
    Object.assign(group, { level, raiser, by, slack, isAhead: false });
    return { group, isContrary };
  }
}

/** True for one that nothing would be lost of. */
function isQuiet({ level, isAhead, line }: Group): boolean {
  return !level.raised && level.counted.length === 0 && !isAhead && line === undefined;
}

function lastsLonger(level: Level, other: Level): boolean {
  return level.raised && (!other.raised || level.until > other.until);
}
