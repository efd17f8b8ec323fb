import { isHealth } from '../../event';
import type { ProvenMessage } from '../../message/record';
import type { Delivery, DeliveryTerms } from '../inbox';
import { alarmOf } from '../spill/spilled-message';
import type { StoreCalls } from '../store/protocol';
import type { LeasedEvent } from './held';

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
    const hasRoom = this.room > 0 && (!isHealth(event) || this.roomForHealth > 0);
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
  get room(): number {
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
