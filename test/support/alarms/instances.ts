import { AlarmState, type EventOutcome } from '../../../lib/alarms/alarm-state';
import type { AlarmEvent } from '../../../lib/alarms/level';
import type { StateMessage } from '../../../lib/alarms/levels';
import type { AlarmSettings, Control } from '../../../lib/alarms/settings';
import type { Slots } from '../../../lib/alarms/slot-store';
import { SlotPlace } from '../inbox/hooked-inbox';
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

/** Milliseconds that a call of the slots takes. */
const TAKES = 7;

interface Life {
  state: AlarmState;
  life: { isOver: boolean };
}

/** Instances of one alarm state on slots that they share, in a time that stands still unless told to go on. */
export class Instances {
  readonly time = new VirtualTime();
  readonly slots = new SlotPlace(() => performance.now(), TAKES);
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
