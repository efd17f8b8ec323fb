import type { ProvenMessage } from '../../message/record';
import { meter } from '../../meter';
import type { Consumer, Delivery } from '../model';
import type { AcceptedAnywhere, ActOn, LeasedMessage, ReturnedLeases } from '../store/port';
import { Backlog, type QueueStores, Returns, SpilledBacklog } from './backlog';
import { DeliveryWindow, HandOver, isUnsent, type LeasedEvent, type LeaseMode } from './delivery-window';
import { ASK_AGAIN_AFTER, LeaseTimers } from './leases';
import { StoredEvents, UnreadEvents } from './unreadable';

interface DeliveriesWork {
  consumer(): Consumer | undefined;
  /** False while nothing may be handed over: what is to be is given back. */
  isRunning(): boolean;
  /** They were to be handed over when nothing might be any more. */
  giveBack(held: readonly LeasedEvent[]): void;
  /** True where others wait in the store. */
  hasWaiting(): boolean;
  /** Marked as delivered. */
  over(held: readonly LeasedEvent[]): void;
  /** Does something after a pause. */
  later(act: () => void): void;
  /** Told what an operator should know; nothing of an event. */
  log(line: string): void;
}

/** Leased events on their way to the consumer; where to be sent is all it takes, until they are marked as delivered. */
class Deliveries {
  readonly #handOver = new HandOver({
    mayHand: () => this.stores.isLeaseSafe(),
    hand: (held) => this.#hand(held),
    haveLeft: (batch) => this.#markDelivered(batch),
  });

  constructor(
    private readonly stores: Pick<QueueStores, 'both' | 'isLeaseSafe' | 'isSettled'>,
    private readonly window: DeliveryWindow,
    private readonly leases: LeaseTimers,
    private readonly work: DeliveriesWork,
  ) {}

  /** It has been leased just now. */
  take(delivery: Delivery): void {
    if (!this.stores.isSettled(delivery.deliveryId)) this.handSoon(this.window.add(delivery));
  }

  /** It comes, perhaps again. */
  handSoon(held: LeasedEvent): void {
    // An inbox that leases late, or is read again, does not know what has gone from beside it meanwhile.
    held.phase = this.window.isAlarmAtWork(held) ? 'waiting' : 'next';
    held.isHandled = false;
    if (!this.work.isRunning()) this.work.giveBack([held]);
    else if (held.phase === 'next') this.#handOver.add(held);
  }

  /** One is held no more, or need not be waited for: the next of its alarm that is held may go. */
  handAfter(held: LeasedEvent): void {
    const next = this.window.waitingFor(held);
    if (next !== undefined) this.handSoon(next);
  }

  /** `isLeaseSafe` is true again. */
  goOn(): void {
    this.#handOver.goOn();
  }

  /** Not handed over yet, or so lately that it may be lost if its flow goes now. */
  unsure(): LeasedEvent[] {
    return this.window.all().filter((held) => isUnsent(held) || this.#handOver.isLeaving(held));
  }

  /** It is held no more. */
  forget(held: LeasedEvent): void {
    this.#handOver.forget(held);
  }

  /** True where the event is handled a moment from now. */
  #hand(held: LeasedEvent): boolean {
    const consumer = this.work.consumer();
    if (consumer === undefined) return false;
    const mustSettle = consumer.handledWhen === 'settled';
    held.phase = 'at-flow';
    if (mustSettle) this.leases.begin(held, consumer.redeliverAfter);
    const isAwaited = this.#handTo(consumer, held.delivery) && mustSettle;
    // The consumer may have gone just then.
    if (isAwaited || !this.window.holds(held)) return false;
    this.leases.end(held);
    held.isHandled = true;
    return true;
  }

  #handTo(consumer: Consumer, delivery: Delivery): boolean {
    countDelivery(delivery);
    try {
      return consumer.deliver(delivery);
    } catch {
      this.work.log(`The flow could not take delivery ${delivery.deliveryId}.`);
      return true;
    }
  }

  #markDelivered(left: readonly LeasedEvent[]): void {
    const deliveryIds = left.map(({ delivery }) => delivery.deliveryId);
    // Best in the commit of the next event, which one of its own would keep waiting; unless others wait for their places.
    const hurry = this.work.hasWaiting() || this.window.capacity <= 0;
    this.stores.both.call('markDelivered', deliveryIds, hurry).then(
      () => this.work.over(left),
      () => {
        // Not delivered again meanwhile, unless given back: then it is no longer for us to end.
        this.work.later(() => this.#markDelivered(left.filter((held) => this.window.holds(held))));
      },
    );
  }
}

/** By the wall clock: an event may have waited over a restart. */
function countDelivery({ message, again }: Delivery): void {
  const { stationKey, receivedTime } = message;
  meter()?.delivered(stationKey, again, (Date.now() - Date.parse(receivedTime)) / 1000);
}

interface EntranceWork {
  /** False while nothing may be leased in the inbox. */
  mayLease(): boolean;
  /** False while nothing may be delivered. */
  isRunning(): boolean;
  /** It has been leased just now. */
  take(delivery: Delivery): void;
  /** Others may go. */
  look(): void;
  /** Others beside the inbox may go. */
  lookBeside(): void;
}

/** What comes in, as the queue of its endpoint has to do with it: where there is room, it is leased as it is stored. */
export class Entrance {
  constructor(
    private readonly backlog: Backlog,
    private readonly window: DeliveryWindow,
    private readonly work: EntranceWork,
  ) {}

  /** How the store should take the next event: leased at once where there is room. */
  lease(message: ProvenMessage): LeaseMode {
    const lease = this.work.mayLease() ? this.window.reserveFor(message) : 'no';
    if (lease === 'no') this.backlog.mayHoldMore();
    return lease;
  }

  /** How an event is to be leased that is about to be spilled. */
  leaseBeside(message: ProvenMessage): LeaseMode {
    return this.work.isRunning() ? this.window.reserveFor(message) : 'no';
  }

  /** What became of an event that was stored. `lease` as it was asked for; undefined = it was not stored. */
  stored(message: ProvenMessage, lease: LeaseMode, accepted: AcceptedAnywhere | undefined): void {
    this.#takeAccepted(message, lease, accepted);
    if (accepted?.leased === false && accepted.outcome === 'new') {
      this.backlog.mayHoldMore();
      this.backlog.count(1);
    }
    this.work.look();
  }

  /** And of one that was stored so late that it was spilled: it waits until it is known as the same. */
  storedLate({ outcome, leased }: AcceptedAnywhere): void {
    if (outcome === 'new' && !leased) this.backlog.count(1);
  }

  /** And of one that was spilled. */
  spilled(message: ProvenMessage, lease: LeaseMode, accepted: AcceptedAnywhere | undefined): void {
    this.#takeAccepted(message, lease, accepted);
    this.work.lookBeside();
  }

  #takeAccepted(message: ProvenMessage, lease: LeaseMode, accepted: AcceptedAnywhere | undefined): void {
    if (lease !== 'no') this.window.release(1);
    if (accepted?.leased !== true) return;
    const { deliveryId, sequence, first, ended } = accepted;
    this.work.take({ deliveryId, sequence, attempt: 1, first, ended, message });
  }
}

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
    this.#returns.reconcileLeases();
    this.lookAnew();
  }

  /** Gives back what is leased and not held. */
  reconcile(): void {
    this.#returns.reconcileLeases();
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
  onStoreTimeout(): void {
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
  onNewWork(): void {
    this.#backlog.stir();
  }

  /** What is leased may go to the flow again. */
  onLeaseSafe(): void {
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
