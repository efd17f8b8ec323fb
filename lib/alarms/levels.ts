import type { Slot, SlotWrite } from '../inbox/slot';
import { type AlarmEvent, DOWN, endOf, type Group, type Level, newGroup } from './level';
import { ENDS, LevelEnds } from './level-ends';
import type { RaisedAlarms } from './raised-alarms';
import { type AlarmSettings, UNKNOWN_GROUP } from './settings';
import { levelValue, storedLevel, type StoreLink } from './slot-store';

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
/** Largest number of writes of former raisers that wait for the store; the oldest beyond it are dropped. */
const MOST_OWED = 1000;

/** A state message that no event causes. */
export interface StateMessage {
  group: string;
  raised: boolean;
  /** `{ webhook, event }` of the event that raised the group, as JSON; undefined where it is unknown. */
  json: string | undefined;
}

/** The event that raises a group, with `{ webhook, event }` as JSON. */
interface RaisedBy {
  event: AlarmEvent;
  json: string | undefined;
}

interface LevelsOptions {
  settings: AlarmSettings;
  /** Id of this run of this node, unique over restarts. */
  instance: string;
  /** Whether another run may still be active, and extend the levels that it raised. */
  mayLive: (life: string) => boolean;
  link: StoreLink;
  alarms: RaisedAlarms;
  /** Called with each state message that no event causes: a release, a repetition, or the stored state at the start. */
  say: (said: StateMessage) => void;
  /** Called when the values of the node status may have changed. */
  changed: () => void;
  /** Requests a call of `tick` at this time or earlier, in milliseconds of `performance.now()`. */
  wakeAt: (time: number) => void;
  /** Largest number of groups. Default 10,000. */
  mostGroups?: number | undefined;
}

/**
 * The levels of all groups, in memory and in slots that instances share: raises them, repeats their state, and releases them at
 * their end. A level changes by compare-and-set, so that of several instances exactly one raises or releases a group. While the
 * store fails, only the memory changes.
 */
export class Levels {
  readonly #groups = new Map<string, Group>();
  readonly #ends: LevelEnds;
  readonly #most: number;
  /** Writes of former raisers that failed with the store. */
  #owed: SlotWrite[] = [];

  constructor(private readonly options: LevelsOptions) {
    this.#ends = new LevelEnds(options.link, options.instance, options.settings.hold);
    this.#most = options.mostGroups ?? MOST;
  }

  raised(): string[] {
    return [...this.#groups.values()].filter(({ level }) => level.raised).map(({ name }) => name);
  }

  /** Groups that hold back events until the required count is reached. */
  counting(): { group: string; events: number }[] {
    const since = performance.now() - this.options.settings.within;
    return [...this.#groups.values()]
      .map(({ name, level }) => ({
        group: name,
        events: level.counted.filter(({ at }) => at >= since).length,
      }))
      .filter(({ events }) => events > 0);
  }

  /** Limit in characters of the event (JSON) that raises a group: each event is stored in memory and in the inbox. */
  get largestEvent(): number {
    return Math.max(LEAST_EVENT, Math.min(LARGEST_EVENT, EVENTS / this.#groups.size));
  }

  /** The group, or a new one that is not stored. */
  peek(name: string): Group {
    return this.#groups.get(name) ?? newGroup(name);
  }

  /**
   * The group, stored from now on. At the limit the oldest group whose removal loses nothing makes room; where there is none, it
   * is the group `unknown`.
   */
  keep(name: string): Group {
    if (this.#groups.size >= this.#most && !this.#groups.has(name)) this.#makeRoom();
    return this.#groupFor(name);
  }

  /** Runs actions on a group one after the other: each may have to wait for the store. */
  inTurn<Outcome>(group: Group, act: () => Promise<Outcome>): Promise<Outcome> {
    const acting = group.queue === undefined ? act() : group.queue.then(act);
    const queue: Promise<unknown> = acting
      .catch(() => undefined)
      .then(() => {
        if (group.queue === queue) group.queue = undefined;
      });
    group.queue = queue;
    return acting;
  }

  /** True where a level need not be written to the store: it is unchanged, or one of this instance that lasts longer. */
  isKnown(group: Group, level: Level): boolean {
    if (level === group.level) return true;
    const { link, instance } = this.options;
    return group.level.raised && level.raised && group.by === instance && !link.isFailing && !group.isAhead;
  }

  /** Sets a level for which `isKnown` is true. */
  take(group: Group, level: Level): void {
    if (level !== group.level && level.raised) this.#ends.extended(group);
    group.level = level;
  }

  /** Resolves with whether the state of the group is durable; writes a pending end soon. */
  isDurable(group: Group): Promise<boolean> {
    return this.#ends.isDurable(group);
  }

  /**
   * Changes a level. Resolves once the store has it or fails; false where another instance was first: its change is then known
   * here, and the caller has to judge again.
   * @param by absent where the level only lasts longer or counts
   */
  async change(group: Group, level: Level, by?: RaisedBy): Promise<boolean> {
    const isDone = await this.#set(group, level, by !== undefined, by);
    if (isDone && by !== undefined) group.repeatAt = this.#nextRepeat();
    if (isDone && (by !== undefined || !level.raised)) this.options.changed();
    this.#plan(group);
    return isDone;
  }

  /** @param name '' = all */
  async releaseAll(name: string): Promise<void> {
    const concerned = [...this.#groups.values()].filter((group) => name === '' || group.name === name);
    await Promise.all(concerned.map((group) => this.#release(group, () => true)));
  }

  /** Releases groups that were raised while another instance disarmed them: no other instance would do so. */
  releaseWhere(isOrdered: (group: string) => boolean): void {
    for (const group of this.#groups.values()) {
      const isDue = (): boolean => isOrdered(group.name);
      if (group.level.raised && group.queue === undefined && isDue()) void this.#release(group, isDue);
    }
  }

  /** Reports the state of every group, except those that have ended: `tick` releases these. */
  sayAll(): void {
    for (const group of this.#groups.values()) if (endOf(group) > performance.now()) this.#say(group);
  }

  /** @param slots all slots of the store; groups without one are removed, unless raised or not written yet */
  retain(slots: readonly Slot[]): void {
    const there = new Set(slots.map(({ name }) => name));
    for (const group of this.#groups.values()) {
      if (there.has(LEVEL + group.name)) continue;
      group.version = 0;
      group.raisedVersion = 0;
      if (group.level.raised) group.isAhead = true;
      else if (!group.isAhead && group.queue === undefined) this.#groups.delete(group.name);
    }
  }

  /**
   * Takes in a slot written by another instance or a former run.
   * @param isNews false for slots read at the start, whose state is reported anyway
   */
  adopt(slot: Slot, isNews: boolean): void {
    if (slot.name.startsWith(EVENT)) this.#adoptRaised(slot);
    if (slot.name.startsWith(ENDS)) this.#adoptEnds(slot);
    if (slot.name.startsWith(LEVEL)) this.#adoptLevel(slot, isNews);
  }

  /** Writes the changes made while the store failed. */
  async catchUp(): Promise<void> {
    for (const group of this.#groups.values())
      if (group.isAhead) void this.inTurn(group, () => this.#catchUp(group)).then(() => this.#plan(group));
    const owed = this.#owed.splice(0);
    await this.options.link.put(owed, false).catch(() => this.#owe(owed));
  }

  /** Writes pending end times at once. Resolves when that is done, or has failed. */
  flush(): Promise<void> {
    return this.#ends.flush();
  }

  /** Deletes reported ends of runs that are gone. @returns removals for the store */
  tidy(now: number): SlotWrite[] {
    return this.#ends.tidy(now);
  }

  /** Releases expired levels and repeats states that are due. @returns when to call again */
  tick(now: number): number {
    let next = Infinity;
    for (const group of this.#groups.values()) {
      // The action in progress plans the next tick.
      if (group.queue !== undefined) continue;
      this.#forgetCounted(group, now);
      const end = endOf(group);
      if (end <= now) void this.#release(group, () => endOf(group) <= performance.now());
      else if (group.repeatAt <= now) this.#repeat(group);
      if (end > now) next = Math.min(next, this.#nextOf(group));
    }
    return next;
  }

  #groupFor(name: string): Group {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    if (this.#groups.size >= this.#most && name !== UNKNOWN_GROUP) return this.#groupFor(UNKNOWN_GROUP);
    const group = newGroup(name);
    this.#groups.set(name, group);
    return group;
  }

  #makeRoom(): void {
    const quiet = [...this.#groups.values()].find(isQuiet);
    if (quiet === undefined) return;
    const { name } = quiet;
    this.#groups.delete(name);
    const removals = [LEVEL + name, EVENT + name].map((slot) => ({ name: slot, value: undefined }));
    this.options.link.put([...removals, ...this.#rememberRaiser(quiet)], false).catch(() => undefined);
  }

  /** @param isUrgent true where a caller waits for the write */
  async #set(group: Group, level: Level, isUrgent: boolean, by?: RaisedBy): Promise<boolean> {
    const next =
      by === undefined
        ? { level, raiser: group.raiser, raised: group.raised }
        : { level, raiser: { id: by.event.id, alarm: by.event.alarm }, raised: by.json };
    const others = by === undefined ? [] : this.#rememberRaiser(group);
    const outcome = await this.#write(group, next, others, isUrgent);
    if (outcome === 'refused') return false;
    Object.assign(group, next, { isAhead: outcome === 'failed' });
    return true;
  }

  /** Writes the change made while the store failed. */
  async #catchUp(group: Group): Promise<void> {
    while (group.isAhead && !this.options.link.isFailing) {
      const { level, raiser, raised } = group;
      const outcome = await this.#write(group, { level, raiser, raised }, [], false);
      if (outcome === 'written') group.isAhead = false;
    }
  }

  async #write(
    group: Group,
    next: Pick<Group, 'level' | 'raiser' | 'raised'>,
    others: readonly SlotWrite[],
    isUrgent: boolean,
  ): Promise<'written' | 'refused' | 'failed'> {
    const { link, instance, settings } = this.options;
    const slot = levelValue({ ...next, by: instance }, settings.within, performance.now());
    const writes: SlotWrite[] = [{ name: LEVEL + group.name, expected: group.version, ...slot }];
    const isNewEvent = next.raised !== group.raised || group.isAhead;
    if (isNewEvent)
      writes.push({ name: EVENT + group.name, expected: group.raisedVersion, value: next.raised });
    const writing = link.isFailing ? undefined : link.put([...writes, ...others], isUrgent);
    const outcomes = await writing?.catch(() => undefined);
    if (outcomes === undefined) {
      this.#owe(others);
      return 'failed';
    }
    const [level, raised] = outcomes;
    if (level?.written !== true) {
      await link.refresh();
      // `refresh` may not have returned the slot; the outcome of the write has it.
      this.adopt(level?.slot ?? { name: LEVEL + group.name, value: undefined, version: 0 }, true);
      return 'refused';
    }
    group.by = instance;
    group.slack = 0;
    group.version = level.slot?.version ?? 0;
    if (isNewEvent) group.raisedVersion = raised?.slot?.version ?? 0;
    // Otherwise the stored level would have the event that raised it before.
    return isNewEvent && raised?.written === false ? this.#write(group, next, [], isUrgent) : 'written';
  }

  /** The writes that store the former raiser, which another one replaces. */
  #rememberRaiser({ name, raiser }: Group): SlotWrite[] {
    return raiser === undefined ? [] : this.options.alarms.remember(name, raiser, performance.now());
  }

  #owe(writes: readonly SlotWrite[]): void {
    this.#owed = [...this.#owed, ...writes].slice(-MOST_OWED);
  }

  #adoptEnds(slot: Slot): void {
    const { by, ends } = this.#ends.adopt(slot);
    for (const [name, end] of ends) {
      const group = this.#groups.get(name);
      if (group?.by === by && by !== this.options.instance && group.level.raised && end > group.level.until)
        group.level = { ...group.level, until: end };
    }
  }

  #adoptRaised(slot: Slot): void {
    const group = this.#groupFor(slot.name.slice(EVENT.length));
    if (slot.version === group.raisedVersion) return;
    group.raisedVersion = slot.value === undefined ? 0 : slot.version;
    if (!group.isAhead && typeof slot.value === 'string') group.raised = slot.value;
  }

  #adoptLevel(slot: Slot, isNews: boolean): void {
    const group = this.#groupFor(slot.name.slice(LEVEL.length));
    if (slot.version === group.version) return;
    const { level: stored = DOWN, raiser, by = '' } = storedLevel(slot, performance.now()) ?? {};
    const level = stored.raised
      ? { ...stored, until: Math.max(stored.until, this.#ends.endOf(by, group.name) ?? 0) }
      : stored;
    group.version = slot.value === undefined ? 0 : slot.version;
    const { instance, mayLive } = this.options;
    const isOurs = by === instance;
    // A change made while the store failed wins, unless another instance has raised the group for longer.
    if (group.isAhead && (isOurs || !lastsLonger(level, group.level))) return;
    const wasToldReleased = group.isAhead && !group.level.raised;
    const slack = isOurs || !mayLive(by) ? 0 : SLACK;
    Object.assign(group, { level, raiser, by, slack, isAhead: false });
    if (wasToldReleased) this.#say(group);
    group.repeatAt = isNews || group.level.raised ? this.#nextRepeat() : Infinity;
    this.#plan(group);
  }

  /** @param isDue called when earlier actions are done: the level may last longer by then */
  #release(group: Group, isDue: () => boolean): Promise<void> {
    return this.inTurn(group, async () => {
      while (group.level.raised && isDue()) {
        if (!(await this.#set(group, DOWN, true))) continue;
        this.#say(group);
        group.repeatAt = this.#nextRepeat();
        this.options.changed();
      }
      this.#plan(group);
    });
  }

  #say({ name, level, raised }: Group): void {
    this.options.say({ group: name, raised: level.raised, json: raised });
  }

  /** A raised state is repeated periodically, a release once. */
  #repeat(group: Group): void {
    this.#say(group);
    group.repeatAt = group.level.raised ? this.#nextRepeat() : Infinity;
  }

  /** Clears expired counts in memory, for the status; the stored ones expire by themselves. */
  #forgetCounted(group: Group, now: number): void {
    if (group.level.raised || countedUntil(group, this.options.settings) > now) return;
    group.level = DOWN;
    this.options.changed();
  }

  #nextRepeat(): number {
    const { repeat } = this.options.settings;
    return repeat > 0 ? performance.now() + repeat : Infinity;
  }

  #nextOf(group: Group): number {
    return Math.min(endOf(group), group.repeatAt, countedUntil(group, this.options.settings));
  }

  #plan(group: Group): void {
    this.options.wakeAt(this.#nextOf(group));
  }
}

/** When the last counted event expires. */
function countedUntil({ level }: Group, { within }: AlarmSettings): number {
  const last = level.counted.at(-1);
  return last === undefined ? Infinity : last.at + within + 1;
}

/** True where removing the group loses nothing. */
function isQuiet({ level, isAhead, queue }: Group): boolean {
  return !level.raised && level.counted.length === 0 && !isAhead && queue === undefined;
}

function lastsLonger(level: Level, other: Level): boolean {
  return level.raised && (!other.raised || level.until > other.until);
}
