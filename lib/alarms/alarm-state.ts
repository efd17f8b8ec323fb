import { clampTimerMs, withTimeout } from '../concurrency/timers';
import { RvmError } from '../error';
import { type AlarmEvent, type Group, judgeEvent, type HeldReason, type Judgement } from './level';
import type { AlarmSettings, Control } from './settings';
import { Arming } from './arming';
import { Levels, type StateMessage } from './levels';
import { RAISED, RaisedAlarms } from './raised-alarms';
import { type Slots, StoreLink } from './slot-store';
import type { Slot, SlotWrite } from '../inbox/slot';

/** Milliseconds that closing a node waits for the store. */
const CLOSE_WITHIN = 2000;
/** Shortest time between two looks at what is due, in milliseconds: one timer per group would cost more than the group. */
const GRAIN = 100;

/** What the state did with an event. */
export interface EventOutcome {
  group: string;
  /** `state`: the event causes a state message; `extended` and `held` are outputs of the node. */
  output: 'state' | 'extended' | 'held';
  raised: boolean;
  /** Why the event is held back; absent for other outputs. */
  reason?: HeldReason;
  /** Events counted so far; only where `reason` is `count`. */
  counted?: number;
  /**
   * Resolves with true once the effect survives a crash; after false the event should be redelivered. Call it only where that
   * matters: it may force a write.
   */
  isDurable: () => Promise<boolean>;
}

/** Returns the JSON in at most `most` characters; undefined where it does not fit. */
type EventJson = (most: number) => string | undefined;

interface AlarmStateOptions {
  slots: Slots;
  /** Owner of the slots: instances and nodes with the same owner share the state. */
  owner: string;
  settings: AlarmSettings;
  /** Id of this run of this node, unique over restarts. */
  instance: string;
  /** Whether another run, whose id was found in the store, may still be active. */
  mayLive: (life: string) => boolean;
  /** True while no other instance can write the slots. */
  isAlone: () => boolean;
  /** Called with each state message that no event causes, from `start` on. */
  say: (said: StateMessage) => void;
  /** Called when the values of the node status may have changed. */
  changed: () => void;
  /** Largest number of groups. Default 10,000. */
  mostGroups?: number;
}

/**
 * The levels of groups, stored in slots that instances share. A level changes by compare-and-set, so of several instances
 * exactly one raises or releases a group. While the store fails, each instance continues in memory and writes its changes
 * afterwards.
 */
export class AlarmState {
  readonly #arming = new Arming();
  readonly #alarms = new RaisedAlarms();
  readonly #link: StoreLink;
  readonly #levels: Levels;
  readonly #opened: Promise<void>;
  #isOpen = false;
  #isStarted = false;
  /** The stored state has been read at least once. */
  #isKnown = false;
  #isKeptSaid = false;
  #isClosed = false;
  /** The one timer: when something is due next. By then it may have moved to later. */
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  #lookedAt = -Infinity;

  constructor(private readonly options: AlarmStateOptions) {
    const { slots, owner, settings, instance, mayLive, changed } = options;
    this.#link = new StoreLink({
      slots,
      owner,
      isAlone: options.isAlone,
      adopt: (adopted, isAll) => this.#adopt(adopted, isAll),
      recovered: () => this.#recovered(),
      failed: changed,
    });
    this.#levels = new Levels({
      settings,
      instance,
      mayLive,
      link: this.#link,
      alarms: this.#alarms,
      say: (said) => this.#isStarted && options.say(said),
      changed,
      wakeAt: (time) => this.#wakeAt(time),
      mostGroups: options.mostGroups,
    });
    this.#opened = this.#link.refresh().then(() => {
      this.#isOpen = true;
    });
  }

  /** False while changes are not durable. */
  get isDurable(): boolean {
    return !this.#link.isFailing;
  }

  get arming(): Pick<Arming, 'disarmed' | 'tests'> {
    return this.#arming;
  }

  raised(): string[] {
    return this.#levels.raised();
  }

  /** Groups that hold back events until the required count is reached. */
  counting(): { group: string; events: number }[] {
    return this.#levels.counting();
  }

  /** The flows have started: reports the stored state of every group. */
  async start(): Promise<void> {
    await this.#opened;
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#sayKept();
    this.#wakeAt(0);
    this.options.changed();
  }

  /** @param json returns `{ webhook, event }` of the event as JSON */
  event(event: AlarmEvent, json: EventJson): EventOutcome | Promise<EventOutcome> {
    if (!this.#isOpen) return this.#opened.then(() => this.event(event, json));
    const known = this.#levels.peek(event.group);
    if (known.queue === undefined) {
      const judgement = this.#judge(known, event);
      if (this.#levels.isKnown(known, judgement.level)) return this.#taken(known, judgement);
    }
    const group = this.#levels.keep(event.group);
    return this.#levels.inTurn(group, () => this.#handle(group, event, json));
  }

  /**
   * Executes a command. Resolves once it is done, and stored unless the store fails.
   * @throws RvmError BAD_INPUT
   */
  async control({ do: what, group, lasts }: Control): Promise<void> {
    await this.#opened;
    if (!this.#arming.hasCapacityFor(group)) throw tooManyGroups();
    const now = performance.now();
    if (what === 'test') await this.#write(this.#arming.test(group, now + lasts, now));
    else if (what !== 'acknowledge') await this.#write(this.#arming.arm(group, what === 'arm'));
    this.#wakeAt(this.#arming.nextEnd());
    this.options.changed();
    const endsTest = what === 'test' && lasts === 0;
    if (what === 'arm' || endsTest) return;
    // Groups that another instance has raised meanwhile are released, too.
    if (!this.#link.isFailing) await this.#link.refresh();
    await this.#levels.releaseAll(group);
  }

  /** Writes pending changes, if the store can take them in time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await withTimeout(this.#levels.flush(), CLOSE_WITHIN);
    await this.#link.close(CLOSE_WITHIN);
  }

  async #handle(group: Group, event: AlarmEvent, json: EventJson): Promise<EventOutcome> {
    for (;;) {
      const judgement = this.#judge(group, event);
      const { level } = judgement;
      if (this.#levels.isKnown(group, level)) return this.#taken(group, judgement);
      const by =
        judgement.outcome === 'raised' ? { event, json: json(this.#levels.largestEvent) } : undefined;
      if (await this.#levels.change(group, level, by)) return this.#outcome(group, judgement);
    }
  }

  #taken(group: Group, judgement: Judgement): EventOutcome {
    this.#levels.take(group, judgement.level);
    return this.#outcome(group, judgement);
  }

  #outcome(group: Group, judgement: Judgement): EventOutcome {
    const { name, level } = group;
    const outcome = { group: name, raised: level.raised, isDurable: () => this.#levels.isDurable(group) };
    if (judgement.outcome === 'extended') return { ...outcome, output: 'extended' };
    if (judgement.outcome !== 'held') return { ...outcome, output: 'state' };
    const { reason } = judgement;
    if (reason !== 'count') return { ...outcome, output: 'held', reason };
    return { ...outcome, output: 'held', reason, counted: judgement.level.counted.length };
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

  /** Reports the stored state once, as soon as it is known and the flows run. */
  #sayKept(): void {
    if (!this.#isStarted || !this.#isKnown || this.#isKeptSaid) return;
    this.#isKeptSaid = true;
    this.#levels.sayAll();
  }

  /** Looks at what is due, at this time or earlier. */
  #wakeAt(time: number): void {
    if (time >= this.#wakesAt || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#wakesAt = Math.max(time, this.#lookedAt + GRAIN);
    const pause = Math.max(0, Math.ceil(this.#wakesAt - performance.now()));
    this.#timer = setTimeout(() => this.#look(), clampTimerMs(pause));
  }

  #look(): void {
    const now = performance.now();
    this.#wakesAt = Infinity;
    this.#lookedAt = now;
    const over = this.#arming.tidy(now);
    if (over.length > 0) this.options.changed();
    const forgotten = [...over, ...this.#alarms.tidy(now), ...this.#levels.tidy(now)];
    if (forgotten.length > 0) void this.#write(forgotten);
    this.#wakeAt(Math.min(this.#arming.nextEnd(), this.#alarms.nextEnd(), this.#levels.tick(now)));
  }

  #adopt(slots: readonly Slot[], isAll: boolean): void {
    const now = performance.now();
    if (isAll) {
      this.#levels.retain(slots);
      this.#arming.retain(slots);
    }
    for (const slot of slots) {
      if (slot.name.startsWith(RAISED)) this.#alarms.adopt(slot, now);
      else if (!this.#arming.adopt(slot, now)) this.#levels.adopt(slot, this.#isKnown);
    }
    this.#levels.releaseWhere((group) => this.#isOrdered(group));
    this.#isKnown = true;
    this.#sayKept();
    this.#wakeAt(Math.min(this.#arming.nextEnd(), this.#alarms.nextEnd()));
    this.options.changed();
  }

  #isOrdered(group: string): boolean {
    return !this.#arming.isArmed(group) || this.#arming.isOnTest(group, performance.now());
  }

  #recovered(): void {
    void this.#levels.catchUp();
    void this.#write(this.#arming.unwritten(performance.now()));
  }

  /** While the store fails, arming changes stay unwritten until it has recovered. */
  async #write(writes: readonly SlotWrite[]): Promise<void> {
    if (writes.length === 0 || this.#link.isFailing) return;
    const outcomes = await this.#link.put(writes, true).catch(() => undefined);
    if (outcomes !== undefined) this.#arming.written(writes, outcomes);
  }
}

function tooManyGroups(): RvmError {
  return new RvmError(
    'BAD_INPUT',
    'Too many groups are armed, disarmed or on test by themselves: arm or disarm all of them, without msg.group.',
  );
}
