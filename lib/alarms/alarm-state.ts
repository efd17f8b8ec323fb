import { RvmError } from '../error';
import { type AlarmEvent, type Group, judgeEvent, type HeldReason, type Judgement } from './level';
import type { AlarmSettings, Control } from './settings';
import { Arming } from './arming';
import { Earliest, Levels, type StateMessage } from './levels';
import { RAISED, RaisedAlarms } from './raised-alarms';
import { type Slots, StoreLink } from './slot-store';
import type { Slot, SlotWrite } from '../inbox/slot';

/** Milliseconds that the end of a node waits for the store. */
const CLOSE_WITHIN = 2000;

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
  /** Resolves with whether what it did outlasts a crash; else it should come again. To be asked only where that counts. */
  isDurable: () => Promise<boolean>;
}

/** In so many characters at most; undefined where it cannot be kept. */
type EventJson = (most: number) => string | undefined;

interface AlarmStateOptions {
  slots: Slots;
  /** Of the slots: instances and nodes that name the same one share the state. */
  owner: string;
  settings: AlarmSettings;
  /** This life of this node, unlike any other. */
  instance: string;
  /** Whether another life, whose name was found in the store, may go on. */
  mayLive: (life: string) => boolean;
  /** True while nobody else can write the slots. */
  isAlone: () => boolean;
  /** Takes a state that no event asks for, once `start` was called. */
  say: (said: StateMessage) => void;
  /** Told when what the status shows may have changed. */
  changed: () => void;
}

/**
 * The levels of groups, kept in slots that instances share. A level changes once it is written there, by whoever writes first: so it
 * is raised and released once. While the store fails each instance goes on by itself, and writes what it did when it is back.
 */
export class AlarmState {
  readonly #arming = new Arming();
  readonly #alarms = new RaisedAlarms();
  readonly #link: StoreLink;
  readonly #levels: Levels;
  readonly #wake = new Earliest((now) => this.#tick(now));
  readonly #opened: Promise<void>;
  #isOpen = false;
  #isStarted = false;
  /** What the store has is known, or was once. */
  #isKnown = false;
  #isKeptSaid = false;

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
      wakeAt: (time) => this.#wake.at(time),
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
    return this.#levels.raised();
  }

  /** Groups in which events are held back until there are enough. */
  counting(): { group: string; events: number }[] {
    return this.#levels.counting();
  }

  /** The flows run: what is kept is said. */
  async start(): Promise<void> {
    await this.#opened;
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#sayKept();
    this.#wake.at(0);
    this.options.changed();
  }

  /** @param json gives `{ webhook, event }` of the event as JSON */
  event(event: AlarmEvent, json: EventJson): EventOutcome | Promise<EventOutcome> {
    if (!this.#isOpen) return this.#opened.then(() => this.event(event, json));
    const known = this.#levels.peek(event.group);
    if (known.line === undefined) {
      const judgement = this.#judge(known, event);
      if (this.#levels.isKnown(known, judgement.level)) return this.#taken(known, judgement);
    }
    const group = this.#levels.keep(event.group);
    return this.#levels.inTurn(group, () => this.#handle(group, event, json));
  }

  /** Resolves once it is done, and durable where the store does not fail. @throws RvmError BAD_INPUT */
  async control({ do: what, group, lasts }: Control): Promise<void> {
    await this.#opened;
    if (!this.#arming.hasRoomFor(group)) throw tooManyGroups();
    const now = performance.now();
    if (what === 'test') await this.#write(this.#arming.test(group, now + lasts, now));
    else if (what !== 'acknowledge') await this.#write(this.#arming.arm(group, what === 'arm'));
    this.#wake.at(this.#arming.nextEnd());
    this.options.changed();
    const endsTest = what === 'test' && lasts === 0;
    if (what === 'arm' || endsTest) return;
    // What another instance has raised meanwhile is released, too.
    if (!this.#link.isFailing) await this.#link.refresh();
    await this.#levels.releaseAll(group);
  }

  /** What is not written yet is, if the store can take it. */
  async close(): Promise<void> {
    this.#wake.stop();
    this.#levels.flush();
    // It is asked for in the next turn.
    await Promise.resolve();
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

  /** Once, as soon as it is known and the flows run. */
  #sayKept(): void {
    if (!this.#isStarted || !this.#isKnown || this.#isKeptSaid) return;
    this.#isKeptSaid = true;
    this.#levels.sayAll();
  }

  #tick(now: number): number {
    const over = this.#arming.tidy(now);
    if (over.length > 0) this.options.changed();
    const forgotten = [...over, ...this.#alarms.tidy(now), ...this.#levels.tidy(now)];
    if (forgotten.length > 0) void this.#write(forgotten);
    return Math.min(this.#arming.nextEnd(), this.#alarms.nextEnd(), this.#levels.tick(now));
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
    this.#wake.at(Math.min(this.#arming.nextEnd(), this.#alarms.nextEnd()));
    this.options.changed();
  }

  #isOrdered(group: string): boolean {
    return !this.#arming.isArmed(group) || this.#arming.isOnTest(group, performance.now());
  }

  #recovered(): void {
    void this.#levels.catchUp();
    void this.#write(this.#arming.unwritten(performance.now()));
  }

  /** What cannot be written now waits until the store is back. */
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
