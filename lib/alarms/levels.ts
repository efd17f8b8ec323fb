import type { AlarmEvent } from './alarm-event';
import type { AlarmSettings } from './alarm-settings';
import { endOf, type Group } from './group';
import { Groups } from './groups';
import { DOWN, type Level } from './level';
import { LevelKeeper } from './level-keeper';
import { OwnEnds } from './own-ends';
import type { RaisedAlarms } from './raised-alarms';
import type { Slot, SlotWrite } from './slots';
import type { StoreLink } from './store-link';

/** A state as it is said without an event. */
export interface Said {
  group: string;
  raised: boolean;
  /** `{ webhook, event }` of the event that raised it, as JSON; undefined where nobody knows. */
  json: string | undefined;
}

export interface LevelsOptions {
  settings: AlarmSettings;
  /** This life of this node, unlike any other. */
  instance: string;
  /** Whether another life may go on. */
  mayLive: (life: string) => boolean;
  link: StoreLink;
  alarms: RaisedAlarms;
  /** Takes a state that no event asks for: a release, one that is said again, one at the start. */
  say: (said: Said) => void;
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
