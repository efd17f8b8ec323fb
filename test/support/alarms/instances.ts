import { AlarmState, type EventOutcome } from '../../../lib/alarms/alarm-state';
import type { AlarmEvent } from '../../../lib/alarms/level';
import type { StateMessage } from '../../../lib/alarms/levels';
import type { AlarmSettings, Control } from '../../../lib/alarms/settings';
import type { Slots } from '../../../lib/alarms/slot-store';
import type { Slot, SlotOutcome, SlotWrite } from '../../../lib/inbox/slot';
import { storeFailed } from '../../../lib/inbox/store/port';
import { turn, VirtualTime } from '../time/virtual-time';

export const SETTINGS: AlarmSettings = {
  group: 'site',
  hold: 30_100,
  ignoreOlder: 300,
  count: 1,
  within: 60_100,
  classes: [],
  sandbox: false,
  repeat: 0,
};

export function alarmEvent(changes: Partial<AlarmEvent> = {}): AlarmEvent {
  const id = `delivery-${Math.random()}`;
  const usual = { group: 'Depot', id, alarm: `alarm of ${id}`, eventClass: 'security', age: 1 };
  return { ...usual, isEnd: false, isRedelivery: false, isSandbox: false, ...changes };
}

interface Life {
  state: AlarmState;
  life: { isOver: boolean };
}

/** Instances of one alarm state on slots that they share, in a time that stands still unless told to go on. */
export class Instances {
  readonly time = new VirtualTime();
  readonly slots = new MapSlots();
  /** What was said without an event, as text: `Depot true`. */
  readonly said: string[] = [];
  /** The same with what travels along. */
  readonly messages: StateMessage[] = [];
  readonly #running = new Map<number, Life>();
  #lives = 0;

  /** @param isShared false where no two of them run at a time, and each knows that the former is dead */
  constructor(
    private readonly settings: AlarmSettings = SETTINGS,
    private readonly isShared = false,
    private readonly mostGroups?: number,
  ) {
    this.time.install();
  }

  get running(): number[] {
    return [...this.#running.keys()];
  }

  state(instance = 0): AlarmState {
    return this.#instance(instance).state;
  }

  async start(instance = 0): Promise<void> {
    this.#lives += 1;
    const life = { isOver: false };
    const state = new AlarmState({
      slots: this.#slotsOf(life),
      owner: 'alarms:test',
      settings: this.settings,
      instance: `life ${this.#lives}`,
      mayLive: () => this.isShared,
      isAlone: () => !this.isShared,
      say: (said) => {
        if (life.isOver) return;
        this.messages.push(said);
        this.said.push(`${said.group} ${said.raised}`);
      },
      changed: () => undefined,
      ...(this.mostGroups !== undefined && { mostGroups: this.mostGroups }),
    });
    this.#running.set(instance, { state, life });
    await this.goOn(state.start());
  }

  async stop(instance = 0): Promise<void> {
    const { state, life } = this.#instance(instance);
    this.#running.delete(instance);
    await this.goOn(state.close());
    life.isOver = true;
  }

  /** As `kill -9` ends it: nothing is written or said any more. */
  async kill(instance = 0): Promise<void> {
    const { state, life } = this.#instance(instance);
    this.#running.delete(instance);
    life.isOver = true;
    void state.close();
    await this.wait(500);
  }

  /** The outcomes of events that come at the same moment, each at its instance. */
  async events(...events: (readonly [AlarmEvent, number])[]): Promise<EventOutcome[]> {
    const outcomes = events.map(async ([event, instance]) =>
      this.state(instance).event(event, () =>
        JSON.stringify({ webhook: { deliveryId: event.id }, event: {} }),
      ),
    );
    return this.goOn(Promise.all(outcomes));
  }

  async event(event: AlarmEvent, instance = 0): Promise<EventOutcome> {
    const [outcome] = await this.events([event, instance]);
    if (outcome === undefined) throw new Error('an event has no outcome');
    return outcome;
  }

  async control(control: Partial<Control> & Pick<Control, 'do'>, instance = 0): Promise<void> {
    await this.goOn(this.state(instance).control({ group: '', lasts: 0, ...control }));
  }

  async wait(milliseconds: number): Promise<void> {
    const end = this.time.now + milliseconds;
    await this.#turns();
    while (this.time.next(end)) await this.#turns();
  }

  /** What work gives that waits for time to go on: half a second, in which all that hangs together has been written and heard. */
  async goOn<Result>(work: Promise<Result>): Promise<Result> {
    const end = this.time.now + 500;
    await this.wait(500);
    if (this.time.now !== end) throw new Error('time did not go on as told');
    return work;
  }

  #instance(instance: number): Life {
    const running = this.#running.get(instance);
    if (running === undefined) throw new Error(`instance ${instance} does not run`);
    return running;
  }

  /** A life that is over reaches them no more. */
  #slotsOf(life: { isOver: boolean }): Slots {
    const unlessOver = <Result>(ask: () => Promise<Result>): Promise<Result> =>
      life.isOver ? new Promise(() => undefined) : ask();
    return {
      slots: (owner, since) => unlessOver(() => this.slots.slots(owner, since)),
      putSlots: (owner, writes) => unlessOver(() => this.slots.putSlots(owner, writes)),
      watchSlots: (owner, changed) => this.slots.watchSlots(owner, changed),
    };
  }

  async #turns(): Promise<void> {
    for (let left = 3; left > 0; left -= 1) {
      await turn();
      while (this.time.hasTurns) this.time.turn();
    }
  }
}

const TAKES = 7;

interface Kept {
  version: number;
  json: string | undefined;
  ends: number | undefined;
}

/** The slots of one owner as a plain map that instances share, by the clock of `performance.now()`. */
class MapSlots implements Slots {
  /** True while whatever is asked is refused. */
  isFailing = false;
  /** How often something was written, in how many slots, and how often it was read. */
  puts = 0;
  written = 0;
  reads = 0;
  #version = 0;
  readonly #kept = new Map<string, Kept>();
  readonly #watchers = new Set<() => void>();

  async slots(_owner: string, since = 0): Promise<{ version: number; isAll: boolean; slots: Slot[] }> {
    await this.#answer();
    this.reads += 1;
    const changed = [...this.#kept].filter(
      ([, { version, json }]) => version > since && (since > 0 || json !== undefined),
    );
    const slots = changed
      .sort(([, one], [, other]) => one.version - other.version)
      .map(([name, kept]) => slotOf(name, kept));
    return { version: this.#version, isAll: since === 0, slots };
  }

  async putSlots(_owner: string, writes: readonly SlotWrite[]): Promise<SlotOutcome[]> {
    await this.#answer();
    this.puts += 1;
    const outcomes = writes.map((write) => this.#put(write));
    for (const changed of this.#watchers) changed();
    return outcomes;
  }

  watchSlots(_owner: string, changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  names(): string[] {
    return [...this.#kept].filter(([, { json }]) => json !== undefined).map(([name]) => name);
  }

  #put({ name, expected, value, lasts }: SlotWrite): SlotOutcome {
    const found = this.#kept.get(name);
    const isThere = found?.json !== undefined;
    if (expected !== undefined && expected !== (isThere ? found.version : 0))
      return { written: false, slot: isThere ? slotOf(name, found) : undefined };
    if (value === undefined && !isThere) return { written: true, slot: undefined };
    this.#version += 1;
    this.written += 1;
    const kept = {
      version: this.#version,
      json: value === undefined ? undefined : JSON.stringify(value),
      ends: lasts === undefined ? undefined : performance.now() + lasts,
    };
    this.#kept.set(name, kept);
    return { written: true, slot: value === undefined ? undefined : slotOf(name, kept) };
  }

  async #answer(): Promise<void> {
    await new Promise<void>((resolve) => {
      setTimeout(resolve, TAKES);
    });
    if (this.isFailing) throw storeFailed('of the test');
  }
}

function slotOf(name: string, { version, json, ends }: Kept): Slot {
  return {
    name,
    version,
    value: json === undefined ? undefined : (JSON.parse(json) as unknown),
    ...(ends !== undefined && { left: ends - performance.now() }),
  };
}
