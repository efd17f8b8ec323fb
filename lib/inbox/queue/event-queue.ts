import type { ProvenMessage } from '../../message/record';
import { meter } from '../../meter';
import type { Consumer, Delivery } from '../model';
import type { AcceptedAnywhere, ActOn, LeasedMessage, ReturnedLeases } from '../store/port';
import { Backlog, EventReader, type QueueStores, SpilledBacklog } from './backlog';
import {
  ASK_AGAIN_AFTER,
  backOff,
  Deadlines,
  DeliveryWindow,
  GoingBack,
  HandOverLine,
  type HeldEvent,
  type HeldEvents,
  type LeaseMode,
  type LeaseTake,
} from './delivery-window';

/** Events handed over in one turn of the event loop. */
const HANDED_AT_ONCE = 50;

/** The events of one endpoint on their way to its consumer: which are leased when, and what becomes of them. */
export class EventQueue {
  readonly window: DeliveryWindow;
  readonly #backlog: Backlog;
  readonly #spilled: SpilledBacklog;
  readonly #reader = new EventReader();
  readonly #line = new HandOverLine();
  readonly #deadlines = new Deadlines((held) => this.#isDue(held));
  readonly #goingBack = new GoingBack();
  /** How often each could not be read in a row, those that wait to be leased again included. */
  readonly #unread = new Map<string, number>();
  #consumer: Consumer | undefined;
  #running = false;
  #closed = false;
  #isTurning = false;

  /**
   * @param held the events that are leased, of all queues
   * @param changed told when `waiting` has changed
   * @param log told what an operator should know; nothing of an event
   */
  constructor(
    private readonly stores: QueueStores,
    readonly endpointId: string,
    private readonly held: HeldEvents,
    private readonly changed: () => void,
    private readonly log: (line: string) => void,
  ) {
    this.window = new DeliveryWindow(endpointId, held);
    this.#backlog = new Backlog(this.window);
    this.#spilled = new SpilledBacklog(stores.spilled, endpointId, this.window);
  }

  attach(consumer: Consumer): void {
    void this.detach();
    this.#consumer = consumer;
    this.window.terms = consumer;
  }

  /** Gives everything back, for the next consumer. Resolves when that is durable, or failed. */
  async detach(): Promise<void> {
    this.#stop();
    // For the next one the pauses of what could not be read do not count.
    this.#forgetUnread();
    const given = this.#giveBack(this.window.all());
    this.#consumer = undefined;
    this.window.terms = undefined;
    await given;
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
    this.#deadlines.resume();
  }

  /** What the flow has and has to settle stays leased: a deploy of other nodes does not touch it. */
  pause(): void {
    this.#stop();
    void this.#giveBack(
      this.window.all().filter((held) => held.delivery !== undefined && (held.isUnsent || held.isLeaving)),
    );
  }

  /** Asks nothing of the store any more. */
  close(): void {
    this.#closed = true;
  }

  #stop(): void {
    this.#running = false;
    this.#deadlines.pause();
  }

  #later(act: () => void): void {
    if (!this.#closed) setTimeout(() => this.#closed || act(), ASK_AGAIN_AFTER).unref();
  }

  /** How the inbox should take the next event: leased at once where there is room. */
  lease(message: ProvenMessage): LeaseMode {
    const lease = this.#mayLease && !this.#backlog.isBehind ? this.window.reserveFor(message) : 'no';
    if (lease === 'no') this.#backlog.mayHoldMore = true;
    return lease;
  }

  /** How an event is to be leased that is about to be spilled. */
  leaseBeside(message: ProvenMessage): LeaseMode {
    const lease = this.#running ? this.window.reserveFor(message) : 'no';
    if (lease !== 'no') this.#spilled.underWay += 1;
    return lease;
  }

  /** What became of an event that was stored. `lease` as it was asked for; undefined = it was not stored. */
  stored(message: ProvenMessage, lease: LeaseMode, accepted: AcceptedAnywhere | undefined): void {
    this.#takeAccepted(message, lease, accepted);
    if (accepted?.leased === false && accepted.outcome === 'new') {
      this.#backlog.mayHoldMore = true;
      this.#reader.remember(accepted.deliveryId, message);
      this.count(1);
    }
    this.look();
  }

  /** And of one that was stored so late that it was spilled: it waits until it is known as the same. */
  storedLate({ outcome, leased }: AcceptedAnywhere): void {
    if (outcome === 'new' && !leased) this.count(1);
  }

  /** And of one that was spilled. */
  spilled(message: ProvenMessage, lease: LeaseMode, accepted: AcceptedAnywhere | undefined): void {
    if (lease !== 'no') this.#spilled.underWay -= 1;
    this.#takeAccepted(message, lease, accepted);
    this.#lookBeside();
  }

  #takeAccepted(message: ProvenMessage, lease: LeaseMode, accepted: AcceptedAnywhere | undefined): void {
    if (lease !== 'no') this.window.release(1);
    if (accepted?.leased !== true) return;
    const { deliveryId, sequence, first, ended } = accepted;
    this.#take({ deliveryId, sequence, attempt: 1, first, ended, message });
  }

  /** Events that wait for their first delivery. */
  get waiting(): number {
    return this.#backlog.waiting + this.#spilled.waiting;
  }

  /** The store is open, perhaps once more, with so many events that wait. */
  storeOpened(waiting: number): void {
    this.reconcile();
    this.waitingIs(waiting);
    this.lookAnew();
  }

  /** So many wait in the inbox, as just counted: also of what other instances have accepted and given back. */
  waitingIs(count: number): void {
    this.#backlog.isStirred = false;
    this.count(count - this.#backlog.waiting);
    if (count > 0) this.lookAnew();
  }

  /** So many more wait in the inbox, or fewer. */
  count(change: number): void {
    if (change === 0) return;
    this.#backlog.count(change);
    this.changed();
  }

  /** So many wait again, or wait here now, in the store already: dead letters, or events of another endpoint. */
  cameBack(count: number): void {
    this.count(count);
    this.lookAnew();
  }

  /** Another instance has put some into the inbox. */
  onNewWork(): void {
    this.#backlog.isStirred = true;
    this.lookAnew();
  }

  /** Something may go that could not until now. */
  lookAnew(): void {
    this.#backlog.mayHoldMore = true;
    this.look();
  }

  look(): void {
    this.#lookBeside();
    this.#lookInside();
  }

  /** The inbox does not answer. */
  onStoreTimeout(): void {
    this.#backlog.giveUp();
    this.#lookBeside();
  }

  get #mayLease(): boolean {
    return this.#running && !this.#goingBack.isUnsure && this.stores.canLease();
  }

  /** Leases what waits in the inbox, as far as there is room. */
  #lookInside(): void {
    if (!this.#backlog.isOpen || !this.#mayLease) return;
    const asked = this.#backlog.ask();
    if (asked === undefined) return this.#tellBlocked();
    this.stores.both.call('lease', asked).then(
      (events) => this.#leasedInside(asked, events),
      () => {
        if (!this.#backlog.answered(asked)) return;
        this.#backlog.mayHoldMore = true;
        this.#later(() => this.#lookInside());
      },
    );
  }

  #leasedInside(asked: LeaseTake, events: readonly LeasedMessage[]): void {
    this.count(-events.length);
    // In one step with what comes in: in between, the places that are kept would be free.
    const isAwaited = this.#backlog.answered(asked);
    // As if never leased: others may have their places.
    if (!isAwaited) return void this.#return({ unsent: events.map(idOf), cutOff: [] });
    this.#takeStored(events);
    if (events.length === asked.limit) this.#backlog.mayHoldMore = true;
    this.#lookInside();
    if (asked.health === 0) this.#tellBlocked();
  }

  #lookBeside(): void {
    const asked = this.#running ? this.#spilled.ask() : undefined;
    if (asked === undefined) return;
    void this.stores.spilled.lease(asked).then((events) => {
      const mustAskAgain = this.#spilled.answered(asked, events.length);
      this.#takeStored(events);
      if (mustAskAgain) this.#lookBeside();
    });
  }

  #tellBlocked(): void {
    if (this.#backlog.isNewlyBlocked()) this.#consumer?.onBlocked(this.#backlog.waiting);
  }

  /** It has been leased just now. */
  #take(delivery: Delivery): void {
    if (!this.stores.isSettled(delivery.deliveryId)) this.#goOn(this.window.add(delivery));
  }

  #takeStored(events: readonly LeasedMessage[]): void {
    const unread = events.filter(({ isUnread }) => isUnread === true);
    if (unread.length > 0) this.#pauseUnread(unread);
    for (const event of events) {
      if (event.isUnread === true) continue;
      this.#forgetUnread(event.deliveryId);
      const delivery = this.#reader.read(event);
      if (delivery === undefined) this.#unreadable(event.deliveryId);
      else this.#take(delivery);
    }
  }

  /** Only a damaged page, a change of the package, or of the file by hand, can bring this about. */
  #unreadable(deliveryId: string): void {
    this.log(`The stored event ${deliveryId} cannot be read any more; it is kept as a dead letter.`);
    const step = { time: Date.now(), step: 'dead', reason: 'unreadable' } as const;
    this.stores.both.call('finish', { deliveryId, state: 'dead', give: false, step }).then(
      () => this.lookAnew(),
      () => this.#later(() => this.#unreadable(deliveryId)),
    );
  }

  /** Its alarm goes on, with itself where it waits, and it is its turn. */
  #goOn(held: HeldEvent): void {
    const next = this.#running || held.state !== 'waiting' ? this.window.next(held) : held;
    if (next === undefined) return;
    next.state = 'next';
    // An inbox that leases late, or is read again, does not know what has gone from beside it meanwhile.
    next.isHandled = false;
    if (!this.#running) return void this.#giveBack([next]);
    this.#line.add(next);
    this.#turnSoon();
  }

  /** It is held no more: the next of its alarm may go. */
  #forget(held: HeldEvent): void {
    if (!held.isHeld) return;
    this.#letGo(held);
    if (!this.window.isOrdered) return;
    this.#goOn(held);
    if (this.#backlog.waiting > 0 || this.#backlog.isStirred) this.#backlog.mayHoldMore = true;
  }

  #letGo(held: HeldEvent): void {
    this.window.remove(held);
    this.#deadlines.clear(held);
    held.isLeaving = false;
  }

  /** What is leased may go to the flow again. */
  onLeaseSafe(): void {
    this.#turnSoon();
  }

  #turnSoon(): void {
    if (!this.#isTurning) setImmediate(this.#turn);
    this.#isTurning = true;
  }

  /** Hands events over in later turns of the event loop, so that their senders have their answers first. */
  readonly #turn = (): void => {
    const left = this.#line.turned(this.#handSome());
    if (left.length > 0) this.#markDelivered(left);
    this.#isTurning = this.#line.needsTurn(this.stores.isLeaseSafe());
    if (this.#isTurning) setImmediate(this.#turn);
  };

  /** Those that are handled a moment from now. */
  #handSome(): HeldEvent[] {
    const leaving: HeldEvent[] = [];
    for (let count = 0; count < HANDED_AT_ONCE && this.stores.isLeaseSafe(); count += 1) {
      const held = this.#line.take();
      if (held === undefined) break;
      if (this.#hand(held)) leaving.push(held);
    }
    return leaving;
  }

  /** True where the event is handled a moment from now: where to be sent is all it takes. */
  #hand(held: HeldEvent): boolean {
    const consumer = this.#consumer;
    if (consumer === undefined || held.delivery === undefined) return false;
    const mustSettle = consumer.handledWhen === 'settled';
    held.state = 'at-flow';
    held.isStuck = false;
    if (mustSettle) this.#deadlines.set(held, consumer.redeliverAfter);
    const isAwaited = this.#handTo(consumer, held.delivery) && mustSettle;
    // The consumer may have gone just then.
    if (isAwaited || !held.isHeld) return false;
    this.#deadlines.clear(held);
    held.isHandled = true;
    held.isLeaving = true;
    return true;
  }

  #handTo(consumer: Consumer, delivery: Delivery): boolean {
    const { stationKey, receivedTime } = delivery.message;
    // By the wall clock: an event may have waited over a restart.
    meter()?.delivered(stationKey, delivery.again, (Date.now() - Date.parse(receivedTime)) / 1000);
    try {
      return consumer.deliver(delivery);
    } catch {
      this.log(`The flow could not take delivery ${delivery.deliveryId}.`);
      return true;
    }
  }

  #markDelivered(left: readonly HeldEvent[]): void {
    // Best in the commit of the next event, which one of its own would keep waiting; unless others wait for their places.
    const hurry = this.waiting > 0 || this.window.capacity <= 0;
    this.stores.both.call('markDelivered', left.map(idOf), hurry).then(
      () => {
        for (const held of left) this.#forget(held);
        this.look();
      },
      () => {
        // Not delivered again meanwhile, unless given back: then it is no longer for us to end.
        this.#later(() => this.#markDelivered(left.filter(({ isHeld }) => isHeld)));
      },
    );
  }

  /**
   * An event is settled, in the store already. `wasWaiting`: it was not leased.
   * @returns its last delivery, where it was leased here
   */
  settled(deliveryId: string, wasWaiting: boolean): Delivery | undefined {
    this.#forgetUnread(deliveryId);
    const held = this.window.find(deliveryId);
    if (held !== undefined) this.#forget(held);
    if (wasWaiting) this.count(-1);
    this.look();
    return held?.delivery;
  }

  /**
   * The flow wants more time for an event. One that comes again has no lease: a node that works on it still, as for its video,
   * must not keep it from that.
   */
  extend(deliveryId: string): void {
    const held = this.window.find(deliveryId);
    if (held?.state !== 'at-flow' || held.isStuck) return;
    this.#deadlines.set(held, this.#consumer?.redeliverAfter ?? 0);
  }

  /** The flow wants an event again. @throws RvmError STORE_FAILED */
  async retry({ deliveryId, by }: ActOn): Promise<void> {
    const held = this.window.find(deliveryId);
    if (held?.state === 'at-flow') await this.#lapse(held, 'retry', by);
  }

  /** Its lease, or its pause, is over. */
  #isDue(held: HeldEvent): void {
    // Those that were paused together go back together, or the first would be leased again before the others are there.
    if (held.delivery === undefined) return void setImmediate(() => void this.#giveUnreadBack());
    if (held.state === 'paused' && held.isStuck) {
      if (this.window.isOvertaken(held)) return this.#deadlines.set(held, ASK_AGAIN_AFTER);
      // From now on the others wait for it again.
      held.isStuck = false;
    }
    const work = held.state === 'at-flow' ? this.#lapse(held, 'lease') : this.#again(held, held.delivery);
    // The store is asked again.
    work.catch(() => undefined);
  }

  /** A lease has ended: the event comes again after a pause, or is a dead letter. */
  async #lapse(held: HeldEvent, again: 'lease' | 'retry', by?: string): Promise<void> {
    const { deliveryId, delivery } = held;
    const consumer = this.#consumer;
    const maxAttempts = consumer?.maxAttempts ?? Infinity;
    const lapse = { deliveryId, again, maxAttempts, ...(by !== undefined && { by }) };
    const lapsed = await this.#ask(held, this.stores.both.call('lapse', lapse));
    // Given back meanwhile perhaps, but dead it is.
    if (lapsed?.dead === true && delivery) (this.#consumer ?? consumer)?.onDead(delivery, 'attempts');
    if (!held.isHeld) return;
    if (lapsed === undefined || lapsed.dead || !delivery) return void this.settled(deliveryId, false);
    held.delivery = { ...delivery, again };
    held.state = 'paused';
    this.#deadlines.set(held, backOff(lapsed.counted));
  }

  /** The pause is over. */
  async #again(held: HeldEvent, delivery: Delivery): Promise<void> {
    const attempt = await this.#ask(held, this.stores.both.call('again', held.deliveryId));
    if (!held.isHeld) return;
    if (attempt === undefined) return void this.settled(held.deliveryId, false);
    held.delivery = { ...delivery, attempt };
    held.state = 'waiting';
    this.#goOn(held);
  }

  /** Where the store fails, the event stays as it is, and the store is asked again later. */
  async #ask<Answer>(held: HeldEvent, answer: Promise<Answer>): Promise<Answer> {
    const { state } = held;
    held.state = 'asked';
    this.#deadlines.clear(held);
    try {
      return await answer;
    } catch (error) {
      if (held.isHeld) {
        held.state = state;
        held.isStuck = true;
        this.#deadlines.set(held, ASK_AGAIN_AFTER);
        // Those of its alarm need not wait for it.
        this.#goOn(held);
        this.#lookBeside();
      }
      throw error;
    }
  }

  /**
   * What was leased here is not any more: others have it, or may lease it, and the store need not be told. What is over for the
   * flow is so all the same.
   */
  leasesLost(): void {
    for (const held of this.window.all()) if (!held.isHandled) this.#letGo(held);
    this.#forgetUnread();
    this.lookAnew();
  }

  async #giveBack(given: readonly HeldEvent[]): Promise<void> {
    const back: ReturnedLeases = { unsent: [], cutOff: [] };
    for (const held of given) {
      // It goes back already.
      if (held.state === 'asked' && held.delivery === undefined) continue;
      back[held.isUnsent ? 'unsent' : 'cutOff'].push(held.deliveryId);
      this.#letGo(held);
    }
    if (given.length > 0) this.#backlog.mayHoldMore = true;
    await this.#return(back);
  }

  /** Resolves when that is durable, or failed. @param isAll true where the store has leased no others that nobody holds */
  async #return(back: ReturnedLeases, isAll = false): Promise<void> {
    if (back.unsent.length + back.cutOff.length === 0) return;
    this.#goingBack.begin(back);
    try {
      const count = await this.stores.both.call('giveBack', back);
      this.#goingBack.end(back, true);
      if (isAll) this.#goingBack.isUnsure = false;
      // In one step with the answer: what the store tells next counts them already.
      this.cameBack(count);
    } catch {
      this.#goingBack.end(back, false);
      this.#later(() => this.reconcile());
    }
  }

  /**
   * Gives back what the store has leased and nobody holds. Nobody knows what a store that failed has done of what it was asked
   * last: the answer may be lost, and the lease on the disk.
   */
  reconcile(): void {
    this.stores.both.call('leased', this.endpointId).then(
      (leased) => this.#reconcile(leased),
      () => this.#later(() => this.reconcile()),
    );
  }

  #reconcile(leased: readonly string[]): void {
    const lost = leased.filter((id) => !this.held.has(id) && !this.#goingBack.has(id));
    // Some of them may be on their way here from beside the inbox, whose answers are not in turn with this one.
    if (lost.length > 0 && this.#spilled.underWay > 0) return this.#later(() => this.reconcile());
    const back = this.#goingBack.lost(lost);
    if (lost.length > 0) return void this.#return(back, true);
    this.#goingBack.isUnsure = false;
    this.lookAnew();
  }

  /** True while the disk fails to give events that it has: until all were read or settled. */
  get hasUnread(): boolean {
    return this.#unread.size > 0;
  }

  /**
   * The disk may give them later, so each goes back to those that wait after a pause, which grows, for a sector may be lost for
   * good. Until then it keeps its place in the window: a disk that gives nothing has no more events leased than a flow that
   * settles nothing. Told once until all were read: a disk that fails is not a line an event.
   */
  #pauseUnread(events: readonly LeasedMessage[]): void {
    const ids = events.map(idOf);
    // Its consumer has gone meanwhile.
    if (this.#consumer === undefined) return void this.#return({ unsent: ids, cutOff: [] });
    const isNews = !this.hasUnread;
    for (const { deliveryId, rank } of events) {
      const failures = (this.#unread.get(deliveryId) ?? 0) + 1;
      this.#unread.set(deliveryId, failures);
      this.#deadlines.set(this.window.addUnread(deliveryId, rank === 1), backOff(failures));
    }
    if (!isNews) return;
    const others = ids.length > 1 ? `, nor can ${ids.length - 1} more` : '';
    this.log(`The stored event ${ids[0]} cannot be read now${others}; it is tried again. See to the disk.`);
    this.changed();
  }

  /** All whose pause is over. */
  async #giveUnreadBack(): Promise<void> {
    const paused = this.window.all().filter(({ state, timer }) => state === 'paused' && timer === undefined);
    const given = paused.filter(({ delivery }) => delivery === undefined);
    for (const held of given) held.state = 'asked';
    await this.#return({ unsent: given.map(idOf), cutOff: [] });
    // Not before: what is leased in their places must not come on top of them.
    for (const held of given) this.#letGo(held);
    if (given.length > 0) this.lookAnew();
  }

  /** They were read, or are settled, or somebody else's; without an id all. */
  #forgetUnread(deliveryId?: string): void {
    if (!this.hasUnread) return;
    if (deliveryId === undefined) this.#unread.clear();
    else this.#unread.delete(deliveryId);
    if (!this.hasUnread) this.changed();
  }
}

function idOf({ deliveryId }: { deliveryId: string }): string {
  return deliveryId;
}
