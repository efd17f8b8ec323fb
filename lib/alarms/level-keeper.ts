import type { AlarmEvent } from './alarm-event';
import type { AlarmSettings } from './alarm-settings';
import type { Group } from './group';
import { levelSlot, raisedSlot } from './groups';
import type { Level } from './level';
import type { RaisedAlarms } from './raised-alarms';
import { levelValue } from './slot-form';
import type { Slot, SlotOutcome, SlotWrite } from './slots';
import type { StoreLink } from './store-link';

/** Former raisers that wait for a store that fails: beyond it the oldest are not told. */
const MOST_OWED = 1000;

/** What is to be known of a group from now on. */
export interface Change {
  level: Level;
  /** Of the event that raises it, with `{ webhook, event }` as JSON. */
  by?: { event: AlarmEvent; json: string | undefined };
}

/** All of a group that stands in the store. */
type State = Pick<Group, 'level' | 'raiser' | 'raised'>;

export interface LevelKeeperOptions {
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
export class LevelKeeper {
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
