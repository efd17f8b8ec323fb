import type { AlarmEvent } from './alarm-event';
import type { AlarmSettings } from './alarm-settings';
import { Arming } from './arming';
import type { Control } from './control';
import { endOf, type Group } from './group';
import { Groups } from './groups';
import { DOWN, judgeEvent, type HeldReason, type Judgement } from './level';
import { LevelKeeper } from './level-keeper';
import { Earliest } from './earliest';
import { RAISED, RaisedAlarms } from './raised-alarms';
import type { Slot, Slots, SlotWrite } from './slots';
import { StoreLink } from './store-link';

/** Milliseconds that the end of a node waits for the store. */
const CLOSE_WITHIN = 2000;

/** A state as it is said without an event. */
export interface Said {
  group: string;
  raised: boolean;
  /** `{ webhook, event }` of the event that raised it, as JSON; undefined where nobody knows. */
  json: string | undefined;
}

/** What became of an event. */
export interface EventOutcome {
  group: string;
  /** `state`: said because of this event; `extended`, `held` as the outputs of the node are called. */
  output: 'state' | 'extended' | 'held';
  raised: boolean;
  /** Of one that is held back. */
  reason?: HeldReason;
  /** Events that count so far, where it is held back until there are enough. */
  counted?: number;
  /** False where a crash would lose what it did: it should come again. */
  isDurable: boolean;
}

export interface AlarmStateOptions {
  slots: Slots;
  /** Of the slots: instances and nodes that name the same one share the state. */
  owner: string;
  settings: AlarmSettings;
  /** Of this life of this node, unlike that of any other. */
  instance: string;
  /** Takes a state that no event asks for: a release, one that is said again, one at the start. */
  say: (said: Said) => void;
  /** Told when what the status shows may have changed. */
  changed: () => void;
}

/**
 * The levels of groups, kept in slots that instances share. A level changes once it is written there, by whoever writes first: so it
 * is raised and released once. While the store fails each instance goes on by itself, and writes what it did when it is back.
 */
export class AlarmState {
  readonly #groups: Groups;
  readonly #arming = new Arming();
  readonly #alarms = new RaisedAlarms();
  readonly #link: StoreLink;
  readonly #keeper: LevelKeeper;
  readonly #wake = new Earliest((now) => this.#tick(now));
  readonly #opened: Promise<void>;
  #isOpen = false;
  #isStarted = false;
  /** What the store has is known, or was once. */
  #isKnown = false;
  #isKeptSaid = false;

  constructor(private readonly options: AlarmStateOptions) {
    this.#groups = new Groups(options.instance);
    this.#link = new StoreLink({
      slots: options.slots,
      owner: options.owner,
      adopt: (slots, isAll) => this.#adopt(slots, isAll),
      recovered: () => this.#recovered(),
      failed: () => options.changed(),
    });
    const { settings, instance } = options;
    this.#keeper = new LevelKeeper({
      settings,
      instance,
      link: this.#link,
      alarms: this.#alarms,
      refused: (slot) => this.#adoptLevel(slot, performance.now()),
    });
    this.#opened = this.#link.refresh().then(() => {
      this.#isOpen = true;
    });
  }

  /** False while what happens is not durable. */
  get isDurable(): boolean {
    return !this.#link.isFailing;
  }

  get arming(): Pick<Arming, 'disarmed' | 'tests'> {
    return this.#arming;
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

  /** The flows run: what is kept is said. */
  async start(): Promise<void> {
    await this.#opened;
    this.#isStarted = true;
    this.#sayKept();
    this.#wake.at(0);
    this.options.changed();
  }

  /** @param json gives `{ webhook, event }` of the event as JSON; undefined where it cannot be kept */
  event(event: AlarmEvent, json: () => string | undefined): EventOutcome | Promise<EventOutcome> {
    if (!this.#isOpen) return this.#opened.then(() => this.event(event, json));
    const known = this.#groups.peek(event.group);
    if (known.line === undefined) {
      const judgement = this.#judge(known, event);
      if (this.#keeper.isKnown(known, judgement.level)) return this.#done(known, judgement);
    }
    const group = this.#keep(event.group);
    return this.#keeper.inTurn(group, () => this.#handle(group, event, json));
  }

  /** Resolves once it is done, and durable where the store does not fail. */
  async control(control: Control): Promise<void> {
    await this.#opened;
    const now = performance.now();
    const { do: what, group, lasts } = control;
    if (what === 'test') await this.#writeArming(this.#arming.test(group, now + lasts, now));
    else if (what !== 'acknowledge') await this.#writeArming(this.#arming.arm(group, what === 'arm'));
    this.#wake.at(this.#arming.nextEnd());
    this.options.changed();
    if (what === 'arm') return;
    // What another instance has raised meanwhile is released, too.
    if (!this.#link.isFailing) await this.#link.refresh();
    const concerned = [...this.#groups.all()].filter(({ name }) => group === '' || name === group);
    await Promise.all(concerned.map((each) => this.#release(each, () => true)));
  }

  /** What is not written yet is, if the store can take it. */
  async close(): Promise<void> {
    this.#wake.stop();
    await this.#link.close(CLOSE_WITHIN);
  }

  async #handle(group: Group, event: AlarmEvent, json: () => string | undefined): Promise<EventOutcome> {
    for (;;) {
      const judgement = this.#judge(group, event);
      if (this.#keeper.isKnown(group, judgement.level)) return this.#done(group, judgement);
      const isRaised = judgement.outcome === 'raised';
      const change = { level: judgement.level, ...(isRaised && { by: { event, json: json() } }) };
      if (!(await this.#keeper.change(group, change, isRaised))) continue;
      if (isRaised) this.#raised(group);
      this.#plan(group);
      return this.#done(group, judgement);
    }
  }

  #judge(group: Group, event: AlarmEvent): Judgement {
    const now = performance.now();
    const { name } = group;
    return judgeEvent(group.level, event, this.options.settings, {
      now,
      armed: this.#arming.isArmed(name),
      onTest: this.#arming.isOnTest(name, now),
      raisedBy: () => this.#raisedBy(group, event),
    });
  }

  #raisedBy({ name, raiser }: Group, { id, alarm }: AlarmEvent): 'event' | 'other' | undefined {
    if (alarm === '') return undefined;
    const by = raiser?.alarm === alarm ? raiser.id : this.#alarms.raiserOf(name, alarm);
    if (by === undefined) return undefined;
    return by === id ? 'event' : 'other';
  }

  #done(group: Group, judgement: Judgement): EventOutcome {
    group.level = judgement.level;
    const outcome = { group: group.name, raised: group.level.raised, isDurable: !group.isAhead };
    if (judgement.outcome === 'extended') return { ...outcome, output: 'extended' };
    if (judgement.outcome !== 'held') return { ...outcome, output: 'state' };
    const { reason, level } = judgement;
    if (reason !== 'count') return { ...outcome, output: 'held', reason, isDurable: true };
    return { ...outcome, output: 'held', reason, counted: level.counted.length };
  }

  /** Its place among those that are kept. */
  #keep(name: string): Group {
    const room = this.#groups.makeRoomFor(name);
    if (room !== undefined) {
      const { group, writes } = room;
      const former = group.raiser ? this.#alarms.remember(group.name, group.raiser, performance.now()) : [];
      this.#link.put([...writes, ...former], false).catch(() => undefined);
    }
    return this.#groups.keep(name);
  }

  /** Once, as soon as it is known and the flows run; what has ended meanwhile is released instead. */
  #sayKept(): void {
    if (!this.#isStarted || !this.#isKnown || this.#isKeptSaid) return;
    this.#isKeptSaid = true;
    for (const group of this.#groups.all()) if (endOf(group) > performance.now()) this.#say(group);
  }

  #raised(group: Group): void {
    group.repeatAt = this.#nextRepeat();
    this.options.changed();
  }

  /** @param isDue asked once it is its turn: it may last longer by then */
  #release(group: Group, isDue: () => boolean): Promise<void> {
    return this.#keeper.inTurn(group, async () => {
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

  #nextRepeat(): number {
    const { repeat } = this.options.settings;
    return repeat > 0 ? performance.now() + repeat : Infinity;
  }

  #plan(group: Group): void {
    this.#wake.at(Math.min(endOf(group), group.repeatAt));
  }

  /** Releases what is over, says again what is to be said. */
  #tick(now: number): number {
    const over = this.#arming.tidy(now);
    if (over.length > 0) {
      void this.#writeArming(over);
      this.options.changed();
    }
    let next = this.#arming.nextEnd();
    for (const group of this.#groups.all()) {
      // Whatever it waits for plans anew.
      if (group.line !== undefined) continue;
      const end = endOf(group);
      if (end <= now) void this.#release(group, () => endOf(group) <= performance.now());
      else if (group.repeatAt <= now) this.#repeat(group);
      if (end > now) next = Math.min(next, end, group.repeatAt);
    }
    return next;
  }

  /** Each raised state every so often; its release once more. */
  #repeat(group: Group): void {
    if (this.#isStarted) this.#say(group);
    group.repeatAt = group.level.raised ? this.#nextRepeat() : Infinity;
  }

  #adopt(slots: readonly Slot[], isAll: boolean): void {
    const now = performance.now();
    if (isAll) {
      this.#groups.retain(slots);
      this.#arming.retain(slots);
    }
    for (const slot of slots) {
      if (slot.name.startsWith(RAISED)) this.#alarms.adopt(slot, now);
      else if (!this.#arming.adopt(slot, now)) this.#adoptLevel(slot, now);
    }
    for (const group of this.#groups.all()) if (group.level.raised) this.#releaseWhereOrdered(group);
    this.#isKnown = true;
    this.#sayKept();
    this.#wake.at(this.#arming.nextEnd());
    this.options.changed();
  }

  #adoptLevel(slot: Slot, now: number): void {
    const news = this.#groups.adopt(slot, now);
    if (news === undefined) return;
    const { group, isContrary } = news;
    if (isContrary && this.#isStarted) this.#say(group);
    // A release that is said at the start is not said once more.
    group.repeatAt = this.#isKnown || group.level.raised ? this.#nextRepeat() : Infinity;
    this.#plan(group);
  }

  /** What this instance raised at the moment when another disarmed it, nobody else would release. */
  #releaseWhereOrdered(group: Group): void {
    const isOrdered = (): boolean =>
      !this.#arming.isArmed(group.name) || this.#arming.isOnTest(group.name, performance.now());
    if (group.line === undefined && isOrdered()) void this.#release(group, isOrdered);
  }

  #recovered(): void {
    for (const group of this.#groups.all())
      if (group.isAhead)
        void this.#keeper.inTurn(group, () => this.#keeper.catchUp(group).then(() => this.#plan(group)));
    void this.#keeper.catchUpAlarms();
    void this.#writeArming(this.#arming.unwritten(performance.now()));
  }

  /** What cannot be written now waits until the store is back. */
  async #writeArming(writes: readonly SlotWrite[]): Promise<void> {
    if (writes.length === 0 || this.#link.isFailing) return;
    const outcomes = await this.#link.put(writes, true).catch(() => undefined);
    if (outcomes !== undefined) this.#arming.written(writes);
  }
}
