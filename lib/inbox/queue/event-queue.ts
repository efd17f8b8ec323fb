import type { Consumer, Delivery } from '../inbox';
import type { ActOn, ReturnedLeases, LeasedMessage } from '../store/protocol';
import { ASK_AGAIN_AFTER } from './back-off';
import { Backlog } from './backlog';
import type { QueueStores } from './queue-stores';
import { SpilledBacklog } from './spilled-backlog';
import { Deliveries } from './deliveries';
import { DeliveryWindow } from './delivery-window';
import { Entrance } from './entrance';
import { isUnsent, type LeasedEvent } from './held';
import { LeaseTimers } from './leases';
import { Returns } from './returns';
import { StoredEvents } from './stored-events';
import { UnreadEvents } from './unread-events';

/** The events of one endpoint on their way to its consumer: which are leased when, and what becomes of them. */
export class EventQueue {
  /** What comes in. */
  readonly entrance: Entrance;
  readonly #window = new DeliveryWindow();
  readonly #backlog: Backlog;
  readonly #spilled: SpilledBacklog;
  readonly #leases: LeaseTimers;
  readonly #deliveries: Deliveries;
  readonly #returns: Returns;
  readonly #unread: UnreadEvents;
  readonly #storedEvents: StoredEvents;
  #consumer: Consumer | undefined;
  #running = false;
  #closed = false;

  /**
   * @param changed told when `waiting` has changed
   * @param log told what an operator should know; nothing of an event
   */
  constructor(
    private readonly stores: QueueStores,
    readonly endpointId: string,
    changed: () => void,
    log: (line: string) => void,
  ) {
    const store = stores.both;
    this.#backlog = new Backlog(store, endpointId, this.#window, {
      mayLease: () => this.#mayLease,
      take: (events) => this.#takeStored(events),
      // As if never leased: others may have their places.
      tooLate: (events) =>
        void this.#returns.give({ unsent: events.map(({ deliveryId }) => deliveryId), cutOff: [] }),
      isBlocked: (waiting) => this.#consumer?.onBlocked(waiting),
      changed,
      later: (act) => this.#later(act),
    });
    this.#spilled = new SpilledBacklog(stores.spilled, endpointId, this.#window, {
      mayLease: () => this.#running,
      take: (events) => this.#takeStored(events),
    });
    this.#leases = new LeaseTimers(store, {
      consumer: () => this.#consumer,
      isHeld: (held) => this.#window.holds(held),
      isOvertaken: (held) => this.#window.isAlarmAtWork(held),
      comesAgain: (held) => this.#deliveries.handSoon(held),
      isStuck: (held) => {
        this.#deliveries.handAfter(held);
        this.#spilled.look();
      },
      isOver: (held) => {
        this.#forget(held);
        this.look();
      },
    });
    this.#deliveries = new Deliveries(stores, this.#window, this.#leases, {
      consumer: () => this.#consumer,
      isRunning: () => this.#running,
      giveBack: (held) => void this.#giveBack(held),
      hasWaiting: () => this.waiting > 0,
      over: (left) => {
        for (const held of left) this.#forget(held);
        this.look();
      },
      later: (act) => this.#later(act),
      log,
    });
    this.entrance = new Entrance(this.#backlog, this.#window, {
      mayLease: () => this.#mayLease,
      isRunning: () => this.#running,
      take: (delivery) => this.#deliveries.take(delivery),
      look: () => this.look(),
      lookBeside: () => this.#spilled.look(),
    });
    this.#returns = new Returns(store, endpointId, {
      isHeld: (deliveryId) => this.holds(deliveryId) || this.#unread.isPaused(deliveryId),
      returned: (count) => this.#returned(count),
      later: (act) => this.#later(act),
    });
    this.#unread = new UnreadEvents(this.#window, {
      giveBack: (unsent) => this.#returns.give({ unsent, cutOff: [] }),
      freed: () => this.lookAnew(),
      changed,
      log,
    });
    this.#storedEvents = new StoredEvents(store, this.#unread, {
      take: (delivery) => this.#deliveries.take(delivery),
      freed: () => this.lookAnew(),
      later: (act) => this.#later(act),
      log,
    });
  }

  /** Events that wait for their first delivery. */
  get waiting(): number {
    return this.#backlog.waiting + this.#spilled.waiting;
  }

  /** True while the disk fails to give events that it has. */
  get hasUnread(): boolean {
    return this.#unread.hasAny;
  }

  /** The store is open, perhaps once more, with so many events that wait. */
  storeOpened(waiting: number): void {
    this.#backlog.countIs(waiting);
    this.#returns.reconcile();
    this.lookAnew();
  }

  /** So many more wait in the inbox, or fewer, that entered it from beside. */
  count(change: number): void {
    this.#backlog.count(change);
  }

  /** Something may go that could not until now. */
  lookAnew(): void {
    this.#spilled.look();
    this.#backlog.lookAnew();
  }

  look(): void {
    this.#spilled.look();
    this.#backlog.look();
  }

  /** The inbox does not answer. */
  storeHangs(): void {
    this.#backlog.letGo();
    this.#spilled.look();
  }

  /** Alarms, as `alarmOf` names them, of which the flow has an event at work. */
  alarmsAtWork(): Set<string> {
    return this.#window.alarmsAtWork();
  }

  attach(consumer: Consumer): void {
    void this.detach();
    this.#consumer = consumer;
    this.#window.terms = consumer;
  }

  /** Gives everything back, for the next consumer. Resolves when that is durable, or failed. */
  async detach(): Promise<void> {
    this.#stop();
    const given = [this.#giveBack(this.#window.all()), this.#unread.giveAllBack()];
    this.#consumer = undefined;
    this.#window.terms = undefined;
    await Promise.all(given);
  }

  /** Asks nothing of the store any more. */
  close(): void {
    this.#closed = true;
  }

  get consumer(): Consumer | undefined {
    return this.#consumer;
  }

  /** Its consumer, unless that is paused: then nothing reaches its flow. */
  get reachable(): Consumer | undefined {
    return this.#running ? this.#consumer : undefined;
  }

  resume(): void {
    this.#running = true;
    this.look();
    this.#leases.resume();
    this.#unread.resume();
  }

  /** What the flow has and has to settle stays leased: a deploy of other nodes does not touch it. */
  pause(): void {
    this.#stop();
    void this.#giveBack(this.#deliveries.unsure());
  }

  /** Whether this is where an event is leased. */
  holds(deliveryId: string): boolean {
    return this.#window.find(deliveryId) !== undefined;
  }

  /** The flow wants more time for an event. */
  extend(deliveryId: string): void {
    const held = this.#window.find(deliveryId);
    if (held !== undefined) this.#leases.extend(held);
  }

  /** The flow wants an event again. @throws RvmError STORE_FAILED */
  async retry({ deliveryId, by }: ActOn): Promise<void> {
    const held = this.#window.find(deliveryId);
    if (held !== undefined) await this.#leases.retry(held, by);
  }

  /**
   * An event is settled, in the store already. `wasWaiting`: it was not leased.
   * @returns its last delivery, where it was leased here
   */
  settled(deliveryId: string, wasWaiting: boolean): Delivery | undefined {
    this.#unread.forget(deliveryId);
    const held = this.#window.find(deliveryId);
    if (held !== undefined) this.#forget(held);
    if (wasWaiting) this.#backlog.count(-1);
    this.look();
    return held?.delivery;
  }

  /** So many wait again, or wait here now, in the store already: dead letters, or events of another endpoint. */
  cameBack(count: number): void {
    this.#returned(count);
  }

  /** So many wait in the inbox, as just counted: also of what other instances have accepted and given back. */
  waitingIs(count: number): void {
    this.#backlog.countIs(count);
    if (count > 0) this.lookAnew();
  }

  /** Another instance has put some into the inbox. */
  stirred(): void {
    this.#backlog.stir();
  }

  /** What is leased may go to the flow again. */
  mayHandOver(): void {
    this.#deliveries.goOn();
  }

  /**
   * What was leased here is not any more: others have it, or may lease it, and the store need not be told. What is over for the
   * flow is so all the same.
   */
  leasesLost(): void {
    for (const held of this.#window.all()) if (held.isHandled !== true) this.#letGo(held);
    this.#unread.letAllGo();
    this.lookAnew();
  }

  get #mayLease(): boolean {
    return this.#running && !this.#returns.isUnsure && this.stores.canLease();
  }

  #stop(): void {
    this.#running = false;
    this.#leases.pause();
    this.#unread.pause();
  }

  #later(act: () => void): void {
    if (!this.#closed) setTimeout(() => this.#closed || act(), ASK_AGAIN_AFTER).unref();
  }

  #takeStored(events: readonly LeasedMessage[]): void {
    this.#storedEvents.take(events);
    // Its consumer has gone meanwhile.
    if (this.#consumer === undefined) void this.#unread.giveAllBack();
  }

  #returned(count: number): void {
    this.#backlog.count(count);
    this.lookAnew();
  }

  #forget(held: LeasedEvent): void {
    if (!this.#window.holds(held)) return;
    this.#letGo(held);
    if (!this.#window.isOrdered) return;
    // The next event of its alarm may go now.
    this.#deliveries.handAfter(held);
    if (this.#backlog.hasAny) this.#backlog.mayHoldMore();
  }

  #letGo(held: LeasedEvent): void {
    this.#window.remove(held);
    this.#leases.end(held);
    this.#deliveries.forget(held);
  }

  async #giveBack(given: readonly LeasedEvent[]): Promise<void> {
    if (given.length === 0) return;
    const back: ReturnedLeases = { unsent: [], cutOff: [] };
    for (const held of given) {
      back[isUnsent(held) ? 'unsent' : 'cutOff'].push(held.delivery.deliveryId);
      this.#letGo(held);
    }
    this.#backlog.mayHoldMore();
    await this.#returns.give(back);
  }
}
