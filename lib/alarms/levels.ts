import { clampTimerMs } from '../concurrency/timers';
import type { Slot, SlotOutcome, SlotWrite } from '../inbox/slot';
import { Groups, levelSlot, OwnEnds, raisedSlot } from './groups';
import { type AlarmEvent, DOWN, endOf, type Group, type Level } from './level';
import type { RaisedAlarms } from './raised-alarms';
import type { AlarmSettings } from './settings';
import { levelValue, type StoreLink } from './slot-store';

/** A state message that no event causes. */
export interface StateMessage {
  group: string;
  raised: boolean;
  /** `{ webhook, event }` of the event that raised the group, as JSON; undefined where it is unknown. */
  json: string | undefined;
}

interface LevelsOptions {
  settings: AlarmSettings;
  /** Id of this run of this node, unique over restarts. */
  instance: string;
  /** Whether another run may still be active. */
  mayLive: (life: string) => boolean;
  link: StoreLink;
  alarms: RaisedAlarms;
  /** Called with each state message that no event causes: a release, a repetition, or the stored state at the start. */
  say: (said: StateMessage) => void;
  /** Called when the values of the node status may have changed. */
  changed: () => void;
  /** Requests a call of `tick` at this time or earlier, in milliseconds of `performance.now()`. */
  wakeAt: (time: number) => void;
}

/** The levels of all groups over time: raises them, repeats their state, and releases them at their end. */
export class Levels {
  readonly #groups: Groups;
  readonly #keeper: LevelKeeper;
  readonly #ends: OwnEnds;

  constructor(private readonly options: LevelsOptions) {
    const { settings, instance, link, alarms, mayLive } = options;
    this.#groups = new Groups(instance, mayLive);
    this.#ends = new OwnEnds(link, instance, settings.hold);
    const refused = (slot: Slot): void => this.adopt(slot, true);
    this.#keeper = new LevelKeeper({ settings, instance, link, alarms, refused });
  }

  raised(): string[] {
    return [...this.#groups.all()].filter(({ level }) => level.raised).map(({ name }) => name);
  }

  /** Groups that hold back events until the required count is reached. */
  counting(): { group: string; events: number }[] {
    const since = performance.now() - this.options.settings.within;
    return [...this.#groups.all()]
      .map(({ name, level }) => ({
        group: name,
        events: level.counted.filter(({ at }) => at >= since).length,
      }))
      .filter(({ events }) => events > 0);
  }

  /** Limit in characters of the event (JSON) that raises a group. */
  get largestEvent(): number {
    return this.#groups.largestEvent;
  }

  /** The group, or a new one that is not stored. */
  peek(name: string): Group {
    return this.#groups.peek(name);
  }

  /** The group, stored from now on; removes a quiet group where the limit is reached. */
  keep(name: string): Group {
    const made = this.#groups.makeCapacityFor(name);
    if (made !== undefined) {
      const { group, writes } = made;
      const { alarms, link } = this.options;
      const former = group.raiser ? alarms.remember(group.name, group.raiser, performance.now()) : [];
      link.put([...writes, ...former], false).catch(() => undefined);
    }
    return this.#groups.keep(name);
  }

  /** Runs actions on a group one after the other: each may have to wait for the store. */
  inTurn<Outcome>(group: Group, act: () => Promise<Outcome>): Promise<Outcome> {
    return this.#keeper.inTurn(group, act);
  }

  /** True where the level need not be written to the store. */
  isKnown(group: Group, level: Level): boolean {
    return this.#keeper.isKnown(group, level);
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
   * Changes a level. Resolves once the store has it or fails; false where another instance was first, and the
   * caller has to judge again.
   * @param by the event that raises the group, with `{ webhook, event }` as JSON; absent where the level
   *   only lasts longer or counts
   */
  async change(
    group: Group,
    level: Level,
    by?: { event: AlarmEvent; json: string | undefined },
  ): Promise<boolean> {
    const isDone = await this.#keeper.change(group, { level, ...(by && { by }) }, by !== undefined);
    if (isDone && by !== undefined) group.repeatAt = this.#nextRepeat();
    if (isDone && (by !== undefined || !level.raised)) this.options.changed();
    this.#plan(group);
    return isDone;
  }

  /** @param name '' = all */
  async releaseAll(name: string): Promise<void> {
    const concerned = [...this.#groups.all()].filter((group) => name === '' || group.name === name);
    await Promise.all(concerned.map((group) => this.#release(group, () => true)));
  }

  /** Releases groups that were raised while another instance disarmed them: no other instance would do so. */
  releaseWhere(isOrdered: (group: string) => boolean): void {
    for (const group of this.#groups.all()) {
      const isDue = (): boolean => isOrdered(group.name);
      if (group.level.raised && group.queue === undefined && isDue()) void this.#release(group, isDue);
    }
  }

  /** Reports the state of every group, except those that have ended: `tick` releases these. */
  sayAll(): void {
    for (const group of this.#groups.all()) if (endOf(group) > performance.now()) this.#say(group);
  }

  /** @param slots all slots of the store */
  retain(slots: readonly Slot[]): void {
    this.#groups.retain(slots);
  }

  /** @param isNews false for slots read at the start, whose state is reported anyway */
  adopt(slot: Slot, isNews: boolean): void {
    const news = this.#groups.adopt(slot, performance.now());
    if (news === undefined) return;
    const { group, isContrary } = news;
    if (isContrary) this.#say(group);
    group.repeatAt = isNews || group.level.raised ? this.#nextRepeat() : Infinity;
    this.#plan(group);
  }

  /** Writes the changes made while the store failed. */
  async catchUp(): Promise<void> {
    for (const group of this.#groups.all()) {
      if (!group.isAhead) continue;
      const writing = this.inTurn(group, () => this.#keeper.catchUp(group));
      void writing.then(() => this.#plan(group));
    }
    await this.#keeper.catchUpAlarms();
  }

  /** Writes pending end times at once. Resolves when that is done, or has failed. */
  flush(): Promise<void> {
    return this.#ends.flush();
  }

  /** @returns removals for the store */
  tidy(now: number): SlotWrite[] {
    return this.#groups.tidy(now);
  }

  /** Releases expired levels and repeats states that are due. @returns when to call again */
  tick(now: number): number {
    let next = Infinity;
    for (const group of this.#groups.all()) {
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

  /** @param isDue called when earlier actions are done: the level may last longer by then */
  #release(group: Group, isDue: () => boolean): Promise<void> {
    return this.inTurn(group, async () => {
      while (group.level.raised && isDue()) {
        if (!(await this.#keeper.change(group, { level: DOWN }, true))) continue;
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

/** Largest number of writes of former raisers that wait for the store; the oldest beyond it are dropped. */
const MOST_OWED = 1000;

/** The new state of a group. */
interface Change {
  level: Level;
  /** The event that raises the group, with `{ webhook, event }` as JSON. */
  by?: { event: AlarmEvent; json: string | undefined };
}

/** The stored part of a group. */
type State = Pick<Group, 'level' | 'raiser' | 'raised'>;

interface LevelKeeperOptions {
  settings: AlarmSettings;
  instance: string;
  link: StoreLink;
  alarms: RaisedAlarms;
  /** Called with the stored slot where a write was refused. */
  refused: (slot: Slot) => void;
}

/**
 * Changes levels in memory and store by compare-and-set, so that of several instances exactly one raises or releases a group.
 * While the store fails, only the memory changes.
 */
class LevelKeeper {
  /** Writes of former raisers that failed with the store. */
  #owed: SlotWrite[] = [];

  constructor(private readonly options: LevelKeeperOptions) {}

  /** True where a level need not be written: it is unchanged, or one of this instance that lasts longer. */
  isKnown(group: Group, level: Level): boolean {
    if (level === group.level) return true;
    const { link, instance } = this.options;
    return group.level.raised && level.raised && group.by === instance && !link.isFailing && !group.isAhead;
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

  /**
   * Changes a level. Resolves once the store has it or fails; false where another instance was first: its change is then known
   * here, and the caller has to judge again.
   * @param isUrgent true where a caller waits for the write
   */
  async change(group: Group, change: Change, isUrgent: boolean): Promise<boolean> {
    const { by } = change;
    const next: State = {
      level: change.level,
      raiser: by === undefined ? group.raiser : { id: by.event.id, alarm: by.event.alarm },
      raised: by === undefined ? group.raised : by.json,
    };
    const others = by === undefined ? [] : this.#rememberRaiser(group);
    const outcome = await this.#write(group, next, others, isUrgent);
    if (outcome === 'refused') return false;
    Object.assign(group, next, { isAhead: outcome === 'failed' });
    return true;
  }

  /** Writes the change made while the store failed. */
  async catchUp(group: Group): Promise<void> {
    while (group.isAhead && !this.options.link.isFailing) {
      const { level, raiser, raised } = group;
      const outcome = await this.#write(group, { level, raiser, raised }, [], false);
      if (outcome === 'written') group.isAhead = false;
    }
  }

  /** Writes the former raisers that the store lacks. */
  async catchUpAlarms(): Promise<void> {
    const owed = this.#owed.splice(0);
    await this.options.link.put(owed, false).catch(() => this.#owe(owed));
  }

  async #write(
    group: Group,
    next: State,
    others: readonly SlotWrite[],
    isUrgent: boolean,
  ): Promise<'written' | 'refused' | 'failed'> {
    const { link, instance, settings, refused } = this.options;
    const slot = levelValue({ ...next, by: instance }, settings.within, performance.now());
    const writes: SlotWrite[] = [{ name: levelSlot(group), expected: group.version, ...slot }];
    if (next.raised !== group.raised || group.isAhead)
      writes.push({ name: raisedSlot(group), expected: group.raisedVersion, value: next.raised });
    const outcomes = await this.#put([...writes, ...others], isUrgent);
    if (outcomes === undefined) {
      this.#owe(others);
      return 'failed';
    }
    const [level, raised] = outcomes;
    if (level?.written !== true) {
      await link.refresh();
      // `refresh` may not have returned the slot; the outcome of the write has it.
      refused(level?.slot ?? { name: levelSlot(group), value: undefined, version: 0 });
      return 'refused';
    }
    group.by = instance;
    group.slack = 0;
    group.version = level.slot?.version ?? 0;
    if (writes.length > 1) group.raisedVersion = raised?.slot?.version ?? 0;
    // Otherwise the stored level would have the event that raised it before.
    return raised?.written === false && writes.length > 1
      ? this.#write(group, next, [], isUrgent)
      : 'written';
  }

  /** Undefined where the store fails. */
  async #put(writes: readonly SlotWrite[], isUrgent: boolean): Promise<SlotOutcome[] | undefined> {
    const { link } = this.options;
    return link.isFailing ? undefined : link.put(writes, isUrgent).catch(() => undefined);
  }

  /** The writes that store the former raiser, which another one replaces. */
  #rememberRaiser({ name, raiser }: Group): SlotWrite[] {
    return raiser === undefined ? [] : this.options.alarms.remember(name, raiser, performance.now());
  }

  #owe(writes: readonly SlotWrite[]): void {
    this.#owed = [...this.#owed, ...writes].slice(-MOST_OWED);
  }
}

/** Shortest time between two ticks in milliseconds: one timer per group would cost more than the group. */
const GRAIN = 100;

/** One timer for the earliest of many times. When it fires, the due time may have moved to later. */
export class Earliest {
  #at = Infinity;
  #lookedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @param look does what is due; returns the next time (milliseconds of `performance.now()`) or Infinity */
  constructor(private readonly look: (now: number) => number) {}

  /** Calls `look` at this time or earlier. */
  at(time: number): void {
    if (time >= this.#at || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#at = Math.max(time, this.#lookedAt + GRAIN);
    const pause = Math.max(0, Math.ceil(this.#at - performance.now()));
    this.#timer = setTimeout(() => this.#look(), clampTimerMs(pause));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    this.#at = Infinity;
    this.#lookedAt = now;
    this.at(this.look(now));
  }
}
