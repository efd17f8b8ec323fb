import { clampTimerMs } from '../concurrency/timers';
import type { Slot, SlotOutcome, SlotWrite } from '../inbox/slot';
import { Groups, levelSlot, OwnEnds, raisedSlot } from './groups';
import { type AlarmEvent, DOWN, endOf, type Group, type Level } from './level';
import type { RaisedAlarms } from './raised-alarms';
import type { AlarmSettings } from './settings';
import { levelValue, type StoreLink } from './slot-store';

/** A state as it is said without an event. */
export interface StateMessage {
  group: string;
  raised: boolean;
  /** `{ webhook, event }` of the event that raised it, as JSON; undefined where nobody knows. */
  json: string | undefined;
}

interface LevelsOptions {
  settings: AlarmSettings;
  /** This life of this node, unlike any other. */
  instance: string;
  /** Whether another life may go on. */
  mayLive: (life: string) => boolean;
  link: StoreLink;
  alarms: RaisedAlarms;
  /** Takes a state that no event asks for: a release, one that is said again, one at the start. */
  say: (said: StateMessage) => void;
  /** Told when what the status shows may have changed. */
  changed: () => void;
  /** To be called then, or before: milliseconds of `performance.now()`. */
  wakeAt: (time: number) => void;
}

/** The levels of all groups in time: raised, said again, released when they are over. */
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

  /** Names of the groups that are raised. */
  raised(): string[] {
    return [...this.#groups.all()].filter(({ level }) => level.raised).map(({ name }) => name);
  }

  /** Groups in which events are held back until there are enough. */
  counting(): { group: string; events: number }[] {
    const since = performance.now() - this.options.settings.within;
    return [...this.#groups.all()]
      .map(({ name, level }) => ({
        group: name,
        events: level.counted.filter(({ at }) => at >= since).length,
      }))
      .filter(({ events }) => events > 0);
  }

  /** Characters that the event may have, as JSON, which raises a group. */
  get largestEvent(): number {
    return this.#groups.largestEvent;
  }

  /** As it is now: one that is not kept yet is only looked at. */
  peek(name: string): Group {
    return this.#groups.peek(name);
  }

  /** Its place among those that are kept. */
  keep(name: string): Group {
    const room = this.#groups.makeRoomFor(name);
    if (room !== undefined) {
      const { group, writes } = room;
      const { alarms, link } = this.options;
      const former = group.raiser ? alarms.remember(group.name, group.raiser, performance.now()) : [];
      link.put([...writes, ...former], false).catch(() => undefined);
    }
    return this.#groups.keep(name);
  }

  /** What is asked of a group, one after the other, for each may have to wait for the store. */
  inTurn<Outcome>(group: Group, act: () => Promise<Outcome>): Promise<Outcome> {
    return this.#keeper.inTurn(group, act);
  }

  /** True where a level needs no word to the store. */
  isKnown(group: Group, level: Level): boolean {
    return this.#keeper.isKnown(group, level);
  }

  /** A level of which the store needs no word takes its place. */
  take(group: Group, level: Level): void {
    if (level !== group.level && level.raised) this.#ends.extended(group);
    group.level = level;
  }

  /** Whether what is known of a group is durable, for one who waits for that. */
  isDurable(group: Group): Promise<boolean> {
    return this.#ends.isDurable(group);
  }

  /**
   * Resolves once the store has it, or fails; false where another instance was first, and all has to be thought over.
   * @param by the event that raises the group, with `{ webhook, event }` as JSON; absent of a level that only lasts longer, or counts
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

  /** What was raised at the moment when another instance disarmed it, nobody else would release. */
  releaseWhere(isOrdered: (group: string) => boolean): void {
    for (const group of this.#groups.all()) {
      const isDue = (): boolean => isOrdered(group.name);
      if (group.level.raised && group.line === undefined && isDue()) void this.#release(group, isDue);
    }
  }

  /** All that are kept; what has ended is released instead. */
  sayAll(): void {
    for (const group of this.#groups.all()) if (endOf(group) > performance.now()) this.#say(group);
  }

  /** @param slots all there are in the store */
  retain(slots: readonly Slot[]): void {
    this.#groups.retain(slots);
  }

  /** @param isNews false for what is said at the start */
  adopt(slot: Slot, isNews: boolean): void {
    const news = this.#groups.adopt(slot, performance.now());
    if (news === undefined) return;
    const { group, isContrary } = news;
    if (isContrary) this.#say(group);
    group.repeatAt = isNews || group.level.raised ? this.#nextRepeat() : Infinity;
    this.#plan(group);
  }

  /** Writes what was done while the store failed. */
  async catchUp(): Promise<void> {
    for (const group of this.#groups.all()) {
      if (!group.isAhead) continue;
      const writing = this.inTurn(group, () => this.#keeper.catchUp(group));
      void writing.then(() => this.#plan(group));
    }
    await this.#keeper.catchUpAlarms();
  }

  /** Writes at once what waits. */
  flush(): void {
    this.#ends.flush();
  }

  /** @returns what is to be removed from the store */
  tidy(now: number): SlotWrite[] {
    return this.#groups.tidy(now);
  }

  /** Releases what is over, says again what is to be said. @returns when to look again */
  tick(now: number): number {
    let next = Infinity;
    for (const group of this.#groups.all()) {
      // Whatever it waits for plans anew.
      if (group.line !== undefined) continue;
      this.#forgetCounted(group, now);
      const end = endOf(group);
      if (end <= now) void this.#release(group, () => endOf(group) <= performance.now());
      else if (group.repeatAt <= now) this.#repeat(group);
      if (end > now) next = Math.min(next, this.#nextOf(group));
    }
    return next;
  }

  /** @param isDue asked once it is its turn: it may last longer by then */
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

  /** Each raised state every so often; its release once more. */
  #repeat(group: Group): void {
    this.#say(group);
    group.repeatAt = group.level.raised ? this.#nextRepeat() : Infinity;
  }

  /** What counts no more does not look so in the status; the store forgets it by itself. */
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

/** When the last of those events counts no more that are held back until there are enough. */
function countedUntil({ level }: Group, { within }: AlarmSettings): number {
  const last = level.counted.at(-1);
  return last === undefined ? Infinity : last.at + within + 1;
}

/** Former raisers that wait for a store that fails: beyond it the oldest are not told. */
const MOST_OWED = 1000;

/** What is to be known of a group from now on. */
interface Change {
  level: Level;
  /** Of the event that raises it, with `{ webhook, event }` as JSON. */
  by?: { event: AlarmEvent; json: string | undefined };
}

/** All of a group that stands in the store. */
type State = Pick<Group, 'level' | 'raiser' | 'raised'>;

interface LevelKeeperOptions {
  settings: AlarmSettings;
  instance: string;
  link: StoreLink;
  alarms: RaisedAlarms;
  /** Told what stands in the store in the place of what was to be written. */
  refused: (slot: Slot) => void;
}

/**
 * Changes levels in memory and in the store at once: by compare and set, so that of several instances one alone raises a group, or
 * releases it. While the store fails the memory goes ahead.
 */
class LevelKeeper {
  /** What was not written while the store failed, and belongs to no level. */
  #owed: SlotWrite[] = [];

  constructor(private readonly options: LevelKeeperOptions) {}

  /** True where a level may take the place of the former without a word to the store: it is the same, or an own one that lasts longer. */
  isKnown(group: Group, level: Level): boolean {
    if (level === group.level) return true;
    const { link, instance } = this.options;
    return group.level.raised && level.raised && group.by === instance && !link.isFailing && !group.isAhead;
  }

  /** What is asked of a group, one after the other, for each may have to wait for the store. */
  inTurn<Outcome>(group: Group, act: () => Promise<Outcome>): Promise<Outcome> {
    const acting = group.line === undefined ? act() : group.line.then(act);
    const line: Promise<unknown> = acting
      .catch(() => undefined)
      .then(() => {
        if (group.line === line) group.line = undefined;
      });
    group.line = line;
    return acting;
  }

  /**
   * Resolves once the store has it, or fails. False where another instance was first: what that did is known then, and all has to be
   * thought over.
   * @param isUrgent somebody waits for it
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

  /** Writes what was done while the store failed. */
  async catchUp(group: Group): Promise<void> {
    while (group.isAhead && !this.options.link.isFailing) {
      const { level, raiser, raised } = group;
      const outcome = await this.#write(group, { level, raiser, raised }, [], false);
      if (outcome === 'written') group.isAhead = false;
    }
  }

  /** What the store has to know of former raisers, and does not. */
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
      // Where the news did not tell of it, the answer does.
      refused(level?.slot ?? { name: levelSlot(group), value: undefined, version: 0 });
      return 'refused';
    }
    group.by = instance;
    group.slack = 0;
    group.version = level.slot?.version ?? 0;
    if (writes.length > 1) group.raisedVersion = raised?.slot?.version ?? 0;
    // Else the level would stand there with the event that raised it before.
    return raised?.written === false && writes.length > 1
      ? this.#write(group, next, [], isUrgent)
      : 'written';
  }

  /** Undefined where the store fails. */
  async #put(writes: readonly SlotWrite[], isUrgent: boolean): Promise<SlotOutcome[] | undefined> {
    const { link } = this.options;
    return link.isFailing ? undefined : link.put(writes, isUrgent).catch(() => undefined);
  }

  /** Another takes its place as the last that raised the group. */
  #rememberRaiser({ name, raiser }: Group): SlotWrite[] {
    return raiser === undefined ? [] : this.options.alarms.remember(name, raiser, performance.now());
  }

  #owe(writes: readonly SlotWrite[]): void {
    this.#owed = [...this.#owed, ...writes].slice(-MOST_OWED);
  }
}

/** Milliseconds between two looks, at least: a timer for each of a thousand groups would cost more than they do. */
const GRAIN = 100;

/** One timer for the earliest of many times, which may turn out to be later once it has come. */
export class Earliest {
  #at = Infinity;
  #lookedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @param look does what is due, and returns when to look again: milliseconds of `performance.now()`, or Infinity */
  constructor(private readonly look: (now: number) => number) {}

  /** Looks then, or before. */
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
