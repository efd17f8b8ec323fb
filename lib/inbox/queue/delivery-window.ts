import { isHealth } from '../../event';
import type { ProvenMessage } from '../../message/record';
import type { Delivery, DeliveryTerms } from '../model';
import { alarmOf } from '../store/port';
import type { StoreCalls } from '../store/port';

/** An event that is leased. */
export interface LeasedEvent {
  delivery: Delivery;
  readonly isHealth: boolean;
  /**
   * `next`: about to be handed to the flow. `waiting`: that is to be when no other of its alarm is at work. `at-flow`: the flow
   * has it. `paused`: its lease has ended, and it comes again after a pause. `asking`: the store is being told. `gone`:
   * settled, or given back; held no more.
   */
  phase: 'next' | 'waiting' | 'at-flow' | 'paused' | 'asking' | 'gone';
  /** True once it is over for the flow, and the store has only to be told. */
  isHandled?: boolean;
  /** True while the inbox cannot be told that its lease has ended: others need not wait for it. */
  isStuck?: boolean;
}

/** True of one that was not handed to the flow this time. */
export function isUnsent({ phase }: LeasedEvent): boolean {
  return phase === 'next' || phase === 'waiting';
}

/** Events handed over between two turns of the event loop. */
const BATCH = 50;
/** Turns of the event loop that a flow needs to hand an event on, if it does so asynchronously. */
const TURNS_TO_LEAVE = 3;

interface HandOverWork {
  /** False while nothing may be handed to a flow; asked before each event. */
  mayHand(): boolean;
  /** Hands one event to the flow. True where that is all it takes: then it is `leaving` for a moment. */
  hand(held: LeasedEvent): boolean;
  /** These have left. */
  haveLeft(held: LeasedEvent[]): void;
}

/** Hands events over in later turns of the event loop, so that their senders have their answers first. */
export class HandOver {
  /** The last first: taken from its end, a line need not be moved up. Filled from `#later` when it is empty. */
  #next: LeasedEvent[] = [];
  #later: LeasedEvent[] = [];
  readonly #leaving = new Set<LeasedEvent>();
  #isHanding = false;

  constructor(private readonly work: HandOverWork) {}

  add(held: LeasedEvent): void {
    this.#later.push(held);
    this.goOn();
  }

  /** Goes on where it had to stop. */
  goOn(): void {
    if (!this.#isHanding) setImmediate(() => this.#handSome());
    this.#isHanding = true;
  }

  /** True for an event that was handed over, and may be lost if its flow goes now. */
  isLeaving(held: LeasedEvent): boolean {
    return this.#leaving.has(held);
  }

  /** It is held no more, so it does not count as left. */
  forget(held: LeasedEvent): void {
    this.#leaving.delete(held);
  }

  #handSome(): void {
    const leaving: LeasedEvent[] = [];
    for (let count = 0; count < BATCH && this.work.mayHand(); count += 1) {
      const held = this.#takeNext();
      if (held === undefined) break;
      if (!this.work.hand(held)) continue;
      this.#leaving.add(held);
      leaving.push(held);
    }
    this.#isHanding = this.#next.length + this.#later.length > 0 && this.work.mayHand();
    if (this.#isHanding) setImmediate(() => this.#handSome());
    if (leaving.length > 0) afterTurns(TURNS_TO_LEAVE, () => this.#haveLeft(leaving));
  }

  /** Not what was settled or given back before its turn. */
  #takeNext(): LeasedEvent | undefined {
    for (;;) {
      if (this.#next.length === 0) {
        this.#next = this.#later.toReversed();
        this.#later = [];
      }
      const held = this.#next.pop();
      if (held === undefined || held.phase === 'next') return held;
    }
  }

  #haveLeft(batch: readonly LeasedEvent[]): void {
    const left = batch.filter((held) => this.#leaving.delete(held));
    if (left.length > 0) this.work.haveLeft(left);
  }
}

function afterTurns(turns: number, act: () => void): void {
  if (turns === 0) act();
  else setImmediate(() => afterTurns(turns - 1, act));
}

/** How an event is to be leased as it is accepted. */
export type LeaseMode = StoreCalls['accept']['take']['lease'];

/** Part of the window that only alarms get. */
const FOR_ALARMS = 0.1;

/**
 * The events of one endpoint that are leased, and the room for more. What is asked for with each event is counted, for a window
 * may be ten thousand events wide.
 */
export class DeliveryWindow {
  readonly #held = new Map<string, LeasedEvent>();
  /** By alarm, as `alarmOf` names it. */
  readonly #ofAlarm = new Map<string, Set<LeasedEvent>>();
  #health = 0;
  /** Places kept for events that the store is just leasing, and for those that the disk failed to give. */
  #reserved = 0;
  /** Those of the consumer; undefined while there is none, and so no room. */
  terms: DeliveryTerms | undefined;

  add(delivery: Delivery): LeasedEvent {
    const held: LeasedEvent = { delivery, isHealth: isHealth(delivery.message.event), phase: 'next' };
    this.#held.set(delivery.deliveryId, held);
    if (held.isHealth) this.#health += 1;
    const alarm = alarmOfHeld(held);
    if (alarm !== undefined) this.#ofAlarm.set(alarm, (this.#ofAlarm.get(alarm) ?? new Set()).add(held));
    return held;
  }

  remove(held: LeasedEvent): void {
    if (!this.holds(held)) return;
    this.#held.delete(held.delivery.deliveryId);
    if (held.isHealth) this.#health -= 1;
    const alarm = alarmOfHeld(held);
    const sameAlarm = this.#of(alarm);
    if (sameAlarm.delete(held) && sameAlarm.size === 0 && alarm !== undefined) this.#ofAlarm.delete(alarm);
    held.phase = 'gone';
  }

  find(deliveryId: string): LeasedEvent | undefined {
    return this.#held.get(deliveryId);
  }

  /** False once it was settled or given back; leased again, it is another one. */
  holds(held: LeasedEvent): boolean {
    return held.phase !== 'gone';
  }

  all(): LeasedEvent[] {
    return [...this.#held.values()];
  }

  /** Keeps a place for an event that is about to be accepted: how it is to be leased, where there is room. */
  reserveFor({ event }: ProvenMessage): LeaseMode {
    const hasRoom = this.capacity > 0 && (!isHealth(event) || this.roomForHealth > 0);
    if (!hasRoom) return 'no';
    this.reserve(1);
    return this.isOrdered ? 'ordered' : 'any';
  }

  /** Alarms, as `alarmOf` names them, of which an event is leased, and its lease can end. */
  alarmsAtWork(): Set<string> {
    const alarms = [...this.#ofAlarm].filter(([, some]) => [...some].some(({ isStuck }) => isStuck !== true));
    return new Set(alarms.map(([alarm]) => alarm));
  }

  /** Whether another of its alarm has its turn, and the lease of that can end. */
  isAlarmAtWork(held: LeasedEvent): boolean {
    if (!this.isOrdered) return false;
    const others = [...this.#of(alarmOfHeld(held))].filter((other) => other !== held);
    return others.some(({ phase, isStuck }) => phase !== 'waiting' && isStuck !== true);
  }

  /** The first that waits for another of its alarm. */
  waitingFor(other: LeasedEvent): LeasedEvent | undefined {
    return [...this.#of(alarmOfHeld(other))].find(({ phase }) => phase === 'waiting');
  }

  /** @param health how many of them are known to be for health events */
  reserve(places: number, health = 0): void {
    this.#reserved += places;
    this.#health += health;
  }

  /** What was reserved. */
  release(places: number, health = 0): void {
    this.reserve(-places, -health);
  }

  /** Places that are free. */
  get capacity(): number {
    return this.#size - this.#held.size - this.#reserved;
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

  get #size(): number {
    return this.terms?.maxInFlight ?? 0;
  }

  #of(alarm: string | undefined): Set<LeasedEvent> {
    return (alarm === undefined ? undefined : this.#ofAlarm.get(alarm)) ?? new Set();
  }
}

/** As `alarmOf` names it; undefined of one that is of none. */
function alarmOfHeld({ delivery: { message } }: LeasedEvent): string | undefined {
  const { alarmId } = message.event;
  if (typeof alarmId !== 'string' || alarmId === '') return undefined;
  return alarmOf(message.stationKey, alarmId);
}
