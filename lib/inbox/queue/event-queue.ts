import { backOff } from './back-off';
import { isHealth } from '../../message/phase';
import { HandOver, type Held } from './hand-over';
import type { Consumer, Delivery } from '../inbox';
import type { ProvenMessage } from '../../message/record';
import { Returns } from './returns';
import type { Accepted } from '../store/protocol';
import type { StorePort } from '../store/port';
import { deliveryOf } from '../store/stored-message';

/** Events fetched in one go. */
const BATCH = 50;
/** Part of the window that only alarms get. */
const FOR_ALARMS = 0.1;
/** The longest time that `setTimeout` takes, in milliseconds. */
const MAX_TIMER = 2 ** 31 - 1;
/** Before the store is asked again after it failed, in milliseconds. */
const RETRY = 1000;

/** The events of one endpoint on their way to its consumer: the window of those leased, their leases, their order. */
export class EventQueue {
  readonly #window = new Map<string, Held>();
  readonly #handOver = new HandOver({
    hand: (held) => this.#hand(held),
    haveLeft: (batch) => this.#markDelivered(batch),
    handed: () => this.#schedule(),
  });
  readonly #returns: Returns;
  #consumer: Consumer | undefined;
  #running = false;
  /** Places of the window kept for events that the store is just leasing. */
  #reserved = 0;
  /** True where events may wait in the store. */
  #more = true;
  #waiting = 0;
  #looking = false;
  #toldBlocked = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param changed told when `waiting` has changed
   * @param log told what an operator should know; nothing of an event
   */
  constructor(
    private readonly store: StorePort,
    private readonly endpointId: string,
    private readonly changed: () => void,
    private readonly log: (line: string) => void,
  ) {
    this.#returns = new Returns(store, endpointId, {
      isHeld: (deliveryId) => this.#window.has(deliveryId),
      returned: (count) => this.#returned(count),
      later: (act) => this.#later(act),
    });
  }

  /** Events that wait for their first delivery. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The store is open, perhaps once more, with so many events that wait. */
  storeOpened(waiting: number): void {
    this.#countWaiting(waiting - this.#waiting);
    this.#more = true;
    this.#returns.reconcile();
    this.#look();
  }

  attach(consumer: Consumer): void {
    void this.detach();
    this.#consumer = consumer;
  }

  /** Gives everything back, for the next consumer. Resolves when that is durable, or failed. */
  async detach(): Promise<void> {
    this.#running = false;
    const given = this.#giveBack([...this.#window.values()]);
    this.#consumer = undefined;
    await given;
  }

  /** Asks nothing of the store any more. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  get consumer(): Consumer | undefined {
    return this.#consumer;
  }

  resume(): void {
    this.#running = true;
    this.#look();
    this.#schedule();
  }

  /** What the flow has and has to settle stays leased: a deploy of other nodes does not touch it. */
  pause(): void {
    this.#running = false;
    void this.#giveBack(
      [...this.#window.values()].filter((held) => held.phase === 'next' || this.#handOver.isLeaving(held)),
    );
  }

  /** How the store should take the next event: leased at once where there is room. */
  lease({ event }: ProvenMessage): 'no' | 'any' | 'ordered' {
    const hasRoom = this.#room() > 0 && (!isHealth(event) || this.#roomForHealth() > 0);
    if (!this.#running || !hasRoom) {
      this.#more = true;
      return 'no';
    }
    this.#reserved += 1;
    return this.#isOrdered() ? 'ordered' : 'any';
  }

  /** What became of an event that was stored. `lease` as it was asked for; undefined = it was not stored. */
  stored(message: ProvenMessage, lease: 'no' | 'any' | 'ordered', accepted: Accepted | undefined): void {
    if (lease !== 'no') this.#reserved -= 1;
    if (accepted?.leased === true) {
      const { deliveryId, sequence, first, ended } = accepted;
      this.#take({ deliveryId, sequence, attempt: 1, first, ended, message });
    } else if (accepted?.outcome === 'new') {
      this.#more = true;
      this.#countWaiting(1);
    }
    this.#look();
  }

  /** Whether this is where an event is leased. */
  holds(deliveryId: string): boolean {
    return this.#window.has(deliveryId);
  }

  /** The flow wants more time for an event. */
  extend(deliveryId: string): void {
    const held = this.#window.get(deliveryId);
    if (held === undefined || (held.phase !== 'at-flow' && held.phase !== 'paused')) return;
    held.phase = 'at-flow';
    held.due = performance.now() + (this.#consumer?.redeliverAfter ?? 0);
    this.#schedule();
  }

  /** The flow wants an event again. @throws RvmError STORE_FAILED */
  async retry(deliveryId: string): Promise<void> {
    const held = this.#window.get(deliveryId);
    if (held?.phase === 'at-flow') await this.#lapse(held, 'retry');
  }

  /** An event is settled, in the store already. `wasWaiting`: it was not leased. */
  settled(deliveryId: string, wasWaiting: boolean): void {
    this.#forget(deliveryId);
    if (wasWaiting) this.#countWaiting(-1);
    this.#look();
  }

  /** A dead letter waits again, in the store already. */
  revived(): void {
    this.#returned(1);
  }

  #isOrdered(): boolean {
    return this.#consumer?.handledWhen === 'settled';
  }

  #room(): number {
    return (this.#consumer?.maxInFlight ?? 0) - this.#window.size - this.#reserved;
  }

  /** Where events have to be settled, a flood of health events leaves room for an alarm. */
  #roomForHealth(): number {
    if (!this.#isOrdered()) return Infinity;
    const most = this.#consumer?.maxInFlight ?? 0;
    let held = 0;
    for (const { delivery } of this.#window.values()) if (isHealth(delivery.message.event)) held++;
    return most - Math.floor(most * FOR_ALARMS) - held;
  }

  #countWaiting(change: number): void {
    if (change === 0) return;
    this.#waiting = Math.max(0, this.#waiting + change);
    if (this.#waiting === 0) this.#toldBlocked = false;
    this.changed();
  }

  /** Leases what waits, as far as there is room. */
  #look(): void {
    if (!this.#running || !this.#more || this.#looking) return;
    // No more places than there are events, or those that arrive meanwhile would find none.
    const limit = Math.min(BATCH, this.#room(), this.#waiting || BATCH);
    if (limit <= 0) return this.#tellBlocked();
    this.#looking = true;
    this.#reserved += limit;
    this.#more = false;
    const health = Math.max(0, Math.min(limit, this.#roomForHealth()));
    const asked = { endpoint: this.endpointId, limit, health, ordered: this.#isOrdered() };
    // In one step with what comes in: in between, the places that are kept would be free.
    const answered = (): void => {
      this.#looking = false;
      this.#reserved -= limit;
    };
    this.store.call('lease', asked).then(
      (events) => {
        answered();
        this.#countWaiting(-events.length);
        for (const event of events) this.#take(deliveryOf(event) ?? this.#unreadable(event.deliveryId));
        if (events.length === limit) this.#more = true;
        this.#look();
        if (health === 0) this.#tellBlocked();
      },
      () => {
        answered();
        this.#more = true;
        this.#lookLater();
      },
    );
  }

  #lookLater(): void {
    this.#later(() => this.#look());
  }

  #later(act: () => void): void {
    if (!this.#closed) setTimeout(() => this.#closed || act(), RETRY).unref();
  }

  #tellBlocked(): void {
    const isFull = this.#room() <= 0 || this.#roomForHealth() <= 0;
    if (!isFull || !this.#isOrdered() || this.#waiting === 0 || this.#toldBlocked) return;
    this.#toldBlocked = true;
    this.#consumer?.onBlocked(this.#waiting);
  }

  /** Only a change of the package, or of the file by hand, can bring this about. */
  #unreadable(deliveryId: string): undefined {
    this.log(`The stored event ${deliveryId} cannot be read any more; it is kept as a dead letter.`);
    this.store.call('finish', { deliveryId, state: 'dead', give: false }).then(
      () => {
        // The next event of its alarm may go now.
        this.#more = true;
        this.#look();
      },
      () => this.#later(() => this.#unreadable(deliveryId)),
    );
  }

  #take(delivery: Delivery | undefined): void {
    if (delivery === undefined) return;
    const held: Held = { delivery, phase: 'next', due: Infinity };
    this.#window.set(delivery.deliveryId, held);
    this.#handSoon(held);
  }

  #handSoon(held: Held): void {
    held.phase = 'next';
    if (this.#running) this.#handOver.add(held);
    else void this.#giveBack([held]);
  }

  /** True where the event is handled a moment from now. */
  #hand(held: Held): boolean {
    const consumer = this.#consumer;
    // It may have been settled, or given back, since.
    if (consumer === undefined || !this.#isHeld(held)) return false;
    held.phase = 'at-flow';
    held.due = performance.now() + consumer.redeliverAfter;
    const isAwaited = this.#handTo(consumer, held.delivery) && consumer.handledWhen === 'settled';
    // The consumer may have gone just then.
    if (isAwaited || !this.#isHeld(held)) return false;
    held.due = Infinity;
    return true;
  }

  #handTo(consumer: Consumer, delivery: Delivery): boolean {
    try {
      return consumer.deliver(delivery);
    } catch {
      this.log(`The flow could not take delivery ${delivery.deliveryId}.`);
      return true;
    }
  }

  #markDelivered(left: readonly Held[]): void {
    const deliveryIds = left.map(({ delivery }) => delivery.deliveryId);
    // Best in the commit of the next event, which one of its own would keep waiting; unless others wait for their places.
    const hurry = this.#waiting > 0 || this.#room() <= 0;
    this.store.call('markDelivered', deliveryIds, hurry).then(
      () => {
        for (const deliveryId of deliveryIds) this.#forget(deliveryId);
        this.#look();
      },
      () => {
        // Not delivered again meanwhile, unless given back: then it is no longer for us to end.
        this.#later(() => this.#markDelivered(left.filter((held) => this.#isHeld(held))));
      },
    );
  }

  #returned(count: number): void {
    this.#more = true;
    this.#countWaiting(count);
    this.#look();
  }

  #forget(deliveryId: string): void {
    const held = this.#window.get(deliveryId);
    if (held === undefined) return;
    this.#window.delete(deliveryId);
    this.#handOver.take([held]);
    // The next event of its alarm may go now.
    if (this.#isOrdered() && this.#waiting > 0) this.#more = true;
  }

  async #giveBack(given: readonly Held[]): Promise<void> {
    if (given.length === 0) return;
    const ids = (phases: readonly Held['phase'][]): string[] =>
      given.filter(({ phase }) => phases.includes(phase)).map(({ delivery }) => delivery.deliveryId);
    for (const held of given) this.#window.delete(held.delivery.deliveryId);
    this.#handOver.take(given);
    this.#more = true;
    await this.#returns.give({ unsent: ids(['next']), cutOff: ids(['at-flow', 'paused', 'asking']) });
  }

  /** One timer, for what is due next. */
  #schedule(): void {
    clearTimeout(this.#timer);
    let due = Infinity;
    for (const held of this.#window.values()) due = Math.min(due, held.due);
    if (!Number.isFinite(due) || !this.#running) return;
    this.#timer = setTimeout(
      () => this.#dealWithDue(),
      Math.min(Math.max(1, due - performance.now()), MAX_TIMER),
    );
    this.#timer.unref();
  }

  #dealWithDue(): void {
    if (!this.#running) return;
    const now = performance.now();
    for (const held of this.#window.values()) {
      if (held.due > now) continue;
      const work = held.phase === 'at-flow' ? this.#lapse(held, 'lease') : this.#again(held);
      work.catch(() => undefined);
    }
    this.#schedule();
  }

  /** A lease has ended: the event comes again after a pause, or is a dead letter. */
  async #lapse(held: Held, again: 'lease' | 'retry'): Promise<void> {
    const { deliveryId } = held.delivery;
    const consumer = this.#consumer;
    const maxAttempts = consumer?.maxAttempts ?? Infinity;
    const lapsed = await this.#ask(held, () => this.store.call('lapse', { deliveryId, again, maxAttempts }));
    // Given back meanwhile perhaps, but dead it is.
    if (lapsed?.dead === true) (this.#consumer ?? consumer)?.onDead(held.delivery, 'attempts');
    if (!this.#isHeld(held)) return;
    if (lapsed === undefined || lapsed.dead) {
      this.#forget(deliveryId);
      return this.#look();
    }
    held.delivery = { ...held.delivery, again };
    held.phase = 'paused';
    held.due = performance.now() + backOff(lapsed.counted);
    this.#schedule();
  }

  /** The pause is over. */
  async #again(held: Held): Promise<void> {
    const { deliveryId } = held.delivery;
    const attempt = await this.#ask(held, () => this.store.call('again', deliveryId));
    if (!this.#isHeld(held)) return;
    if (attempt === undefined) return this.#forget(deliveryId);
    held.delivery = { ...held.delivery, attempt };
    this.#handSoon(held);
  }

  #isHeld(held: Held): boolean {
    return this.#window.get(held.delivery.deliveryId) === held;
  }

  /** Where the store fails, the event stays as it is, and the store is asked again later. */
  async #ask<Answer>(held: Held, ask: () => Promise<Answer>): Promise<Answer> {
    const { phase } = held;
    held.phase = 'asking';
    held.due = Infinity;
    try {
      return await ask();
    } catch (error) {
      held.phase = phase;
      held.due = performance.now() + RETRY;
      this.#schedule();
      throw error;
    }
  }
}
