import { clampTimerMs } from '../../concurrency/timers';
import { isHealth } from '../../event';
import type { ProvenMessage } from '../../message/record';
import type { Delivery, DeliveryTerms } from '../model';
import { alarmOf } from '../store/port';
import type { ReturnedLeases, StoreCalls } from '../store/port';

/**
 * Of an event that is leased. `waiting`: it goes to the flow when no other of its alarm has its turn. `next`: about to go.
 * `at-flow`: the flow has it. `asked`: the store is asked what becomes of it. `paused`: it comes again after a pause. `gone`:
 * settled, or given back; held no more.
 */
type EventState = 'waiting' | 'next' | 'at-flow' | 'asked' | 'paused' | 'gone';

/** An event that is leased. */
export class HeldEvent {
  state: EventState = 'waiting';
  /** True once it is over for the flow, and the store has only to be told. */
  isHandled = false;
  /** True for a moment after that, while it may be lost if its flow goes. */
  isLeaving = false;
  /** True while the inbox cannot be told that its lease has ended: others need not wait for it. */
  isStuck = false;
  /** Set while its lease or pause runs. */
  timer: NodeJS.Timeout | undefined;

  /**
   * @param delivery undefined of one that the disk failed to give
   * @param alarm as `alarmOf` names it; undefined where no other waits for it
   */
  constructor(
    readonly deliveryId: string,
    readonly endpointId: string,
    readonly isHealth: boolean,
    public delivery: Delivery | undefined,
    readonly alarm: string | undefined,
  ) {}

  /** False once it was settled or given back; leased again, it is another one. */
  get isHeld(): boolean {
    return this.state !== 'gone';
  }

  /** True of one that was not handed to the flow this time. */
  get isUnsent(): boolean {
    return this.state === 'next' || this.state === 'waiting' || this.delivery === undefined;
  }
}

/** The events that are leased, of all endpoints, by delivery id. */
export type HeldEvents = Map<string, HeldEvent>;

/** How an event is to be leased as it is accepted. */
export type LeaseMode = StoreCalls['accept']['take']['lease'];
export type LeaseTake = StoreCalls['lease']['take'];

/** Part of the window that only alarms get. */
const FOR_ALARMS = 0.1;

/**
 * The events of one endpoint that are leased, in which order they go, and the room for more. What is asked for with each event
 * is counted, for a window may be ten thousand events wide.
 */
export class DeliveryWindow {
  /** By alarm, as `alarmOf` names it, in the order in which they were leased. */
  readonly #ofAlarm = new Map<string, HeldEvent[]>();
  #held = 0;
  #health = 0;
  /** Places kept for events that the store is just leasing. */
  #reserved = 0;
  /** Those of the consumer; undefined while there is none, and so no room. */
  terms: DeliveryTerms | undefined;

  constructor(
    private readonly endpointId: string,
    private readonly index: HeldEvents,
  ) {}

  add(delivery: Delivery): HeldEvent {
    const { event, stationKey } = delivery.message;
    const { alarmId } = event;
    const hasOrder = this.isOrdered && typeof alarmId === 'string' && alarmId !== '';
    const alarm = hasOrder ? alarmOf(stationKey, alarmId) : undefined;
    return this.#hold(new HeldEvent(delivery.deliveryId, this.endpointId, isHealth(event), delivery, alarm));
  }

  /** One that the disk failed to give: it keeps its place, and none of its alarm waits for it here. */
  addUnread(deliveryId: string, health: boolean): HeldEvent {
    const held = new HeldEvent(deliveryId, this.endpointId, health, undefined, undefined);
    held.state = 'paused';
    return this.#hold(held);
  }

  remove(held: HeldEvent): void {
    if (!held.isHeld) return;
    held.state = 'gone';
    this.#held -= 1;
    if (held.isHealth) this.#health -= 1;
    if (this.index.get(held.deliveryId) === held) this.index.delete(held.deliveryId);
    const line = held.alarm === undefined ? undefined : this.#ofAlarm.get(held.alarm);
    if (line === undefined || held.alarm === undefined) return;
    if (line.length === 1) this.#ofAlarm.delete(held.alarm);
    else line.splice(line.indexOf(held), 1);
  }

  find(deliveryId: string): HeldEvent | undefined {
    const held = this.index.get(deliveryId);
    return held?.endpointId === this.endpointId ? held : undefined;
  }

  all(): HeldEvent[] {
    return [...this.index.values()].filter(({ endpointId }) => endpointId === this.endpointId);
  }

  /**
   * The one rule of what goes next. Where events have to be settled, of each alarm one after the other: the first that waits, once
   * no other has its turn. One whose lease cannot be ended has lost its turn.
   * @param of an event of that alarm; it need not be held any more
   */
  next(of: HeldEvent): HeldEvent | undefined {
    if (of.alarm === undefined) return of.state === 'waiting' ? of : undefined;
    const line = this.#ofAlarm.get(of.alarm);
    return line?.some(hasTurn) === true ? undefined : line?.find(({ state }) => state === 'waiting');
  }

  /** True where another of its alarm has its turn, which did not wait for it. */
  isOvertaken({ alarm }: HeldEvent): boolean {
    return alarm !== undefined && this.#ofAlarm.get(alarm)?.some(hasTurn) === true;
  }

  /** Alarms, as `alarmOf` names them, of which an event is leased, and its lease can end; where none need be settled, none. */
  alarmsAtWork(): Set<string> {
    const alarms = [...this.#ofAlarm].filter(([, line]) => line.some(({ isStuck }) => !isStuck));
    return new Set(alarms.map(([alarm]) => alarm));
  }

  /** Keeps a place for an event that is about to be accepted: how it is to be leased, where there is room. */
  reserveFor({ event }: ProvenMessage): LeaseMode {
    const hasRoom = this.capacity > 0 && (this.roomForHealth > 0 || !isHealth(event));
    if (!hasRoom) return 'no';
    this.#reserved += 1;
    return this.isOrdered ? 'ordered' : 'any';
  }

  /** Keeps places for so many events that wait: what is to be leased for them. */
  reserve(limit: number): LeaseTake {
    this.#reserved += limit;
    const health = Math.max(0, Math.min(limit, this.roomForHealth));
    return { endpoint: this.endpointId, limit, health, ordered: this.isOrdered };
  }

  /** So many of those that were kept. */
  release(places: number): void {
    this.#reserved -= places;
  }

  /** Places that are free. */
  get capacity(): number {
    return this.#size - this.#held - this.#reserved;
  }

  /** Where events have to be settled, a flood of health events leaves room for an alarm. */
  get roomForHealth(): number {
    if (!this.isOrdered) return Infinity;
    return this.#size - Math.floor(this.#size * FOR_ALARMS) - this.#health;
  }

  /** True where of each alarm one event after the other goes to the flow. */
  get isOrdered(): boolean {
    return this.terms?.handledWhen === 'settled';
  }

  /** What must be true at every moment: what is held and reserved fits into the window. For tests. */
  inspect(): { held: number; health: number; reserved: number; size: number } {
    return { held: this.#held, health: this.#health, reserved: this.#reserved, size: this.#size };
  }

  get #size(): number {
    return this.terms?.maxInFlight ?? 0;
  }

  #hold(held: HeldEvent): HeldEvent {
    this.#held += 1;
    if (held.isHealth) this.#health += 1;
    this.index.set(held.deliveryId, held);
    if (held.alarm === undefined) return held;
    const line = this.#ofAlarm.get(held.alarm);
    if (line === undefined) this.#ofAlarm.set(held.alarm, [held]);
    else line.push(held);
    return held;
  }
}

function hasTurn({ state, isStuck }: HeldEvent): boolean {
  return state !== 'waiting' && !isStuck;
}

/** Turns of the event loop that a flow needs to hand an event on, if it does so asynchronously. */
const TURNS_TO_LEAVE = 3;

/** Events that are about to go to the flow, and that were just handed to it. */
export class HandOverLine {
  /** The last first: taken from its end, a line need not be moved up. Filled from `#later` when it is empty. */
  #next: HeldEvent[] = [];
  #later: HeldEvent[] = [];
  /** Handed over, by turn of the event loop, those of the last one at the end. */
  readonly #leaving: HeldEvent[][] = [];

  add(held: HeldEvent): void {
    this.#later.push(held);
  }

  /** Not what was settled or given back before its turn. */
  take(): HeldEvent | undefined {
    for (;;) {
      if (this.#next.length === 0) [this.#next, this.#later] = [this.#later.reverse(), this.#next];
      const held = this.#next.pop();
      if (held === undefined || held.state === 'next') return held;
    }
  }

  /**
   * A turn of the event loop is over, in which these were handed over.
   * @returns those that have left: not what is held no more
   */
  turned(handed: HeldEvent[]): HeldEvent[] {
    this.#leaving.push(handed);
    const left = this.#leaving.length > TURNS_TO_LEAVE ? (this.#leaving.shift() ?? []) : [];
    if (this.#leaving.every(({ length }) => length === 0)) this.#leaving.length = 0;
    return left.filter((held) => {
      const { isLeaving } = held;
      held.isLeaving = false;
      return isLeaving;
    });
  }

  /** @param mayHand whether anything may go now */
  needsTurn(mayHand: boolean): boolean {
    return this.#leaving.length > 0 || (mayHand && this.#next.length + this.#later.length > 0);
  }
}

/** Pauses before the next delivery, in milliseconds; the last one from then on. */
const PAUSES = [1_000, 5_000, 30_000, 120_000, 600_000] as const;

/**
 * The pause after a delivery that came to nothing, in milliseconds.
 * @param attempts deliveries so far, at least 1
 */
export function backOff(attempts: number): number {
  return PAUSES[Math.max(0, attempts - 1)] ?? PAUSES[4];
}

/** Before the store is asked again after it failed, in milliseconds. */
export const ASK_AGAIN_AFTER = 1000;

/**
 * Tells when the lease or the pause of an event is over; while the flow stands still, not before it goes on. One timer for each:
 * Node.js keeps those of one length in a list, so that one more or less costs the same however many there are.
 */
export class Deadlines {
  /** Whose time was up during the pause. */
  readonly #due = new Set<HeldEvent>();
  #isRunning = false;

  constructor(private readonly isUp: (held: HeldEvent) => void) {}

  /** From now on, instead of what was set for it before. @param length in milliseconds */
  set(held: HeldEvent, length: number): void {
    this.clear(held);
    const part = clampTimerMs(Math.max(1, length));
    held.timer = setTimeout(() => this.#passed(held, length - part), part);
    held.timer.unref();
  }

  clear(held: HeldEvent): void {
    if (held.timer !== undefined) clearTimeout(held.timer);
    held.timer = undefined;
    this.#due.delete(held);
  }

  pause(): void {
    this.#isRunning = false;
  }

  resume(): void {
    this.#isRunning = true;
    const due = [...this.#due];
    this.#due.clear();
    for (const held of due) this.isUp(held);
  }

  #passed(held: HeldEvent, left: number): void {
    held.timer = undefined;
    if (left > 0) this.set(held, left);
    else if (this.#isRunning) this.isUp(held);
    else this.#due.add(held);
  }
}

/** Ids of leased events that are on their way back to those that wait. */
export class GoingBack {
  /**
   * True from a failure on until it is known what became of them. Their places seem free, and may not be: nothing is to be leased
   * meanwhile.
   */
  isUnsure = false;
  /** The store is being told of them. */
  readonly #underWay = new Set<string>();
  /** Never handed over, as far as the store has not confirmed that. */
  readonly #unsent = new Set<string>();

  has(deliveryId: string): boolean {
    return this.#underWay.has(deliveryId);
  }

  begin({ unsent, cutOff }: ReturnedLeases): void {
    for (const id of [...unsent, ...cutOff]) this.#underWay.add(id);
    for (const id of unsent) this.#unsent.add(id);
  }

  /** @param areBack false where the store failed: nobody knows what it has done */
  end({ unsent, cutOff }: ReturnedLeases, areBack: boolean): void {
    for (const id of [...unsent, ...cutOff]) this.#underWay.delete(id);
    if (areBack) for (const id of unsent) this.#unsent.delete(id);
    else this.isUnsure = true;
  }

  /** Those that are leased, and nobody holds them, as they are to go back; of others it need not be known any more. */
  lost(deliveryIds: readonly string[]): ReturnedLeases {
    const unsent = deliveryIds.filter((id) => this.#unsent.has(id));
    const cutOff = deliveryIds.filter((id) => !this.#unsent.has(id));
    for (const id of this.#unsent) if (!this.#underWay.has(id)) this.#unsent.delete(id);
    return { unsent, cutOff };
  }
}
