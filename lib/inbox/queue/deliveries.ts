import { meter } from '../../meter';
import type { Consumer, Delivery } from '../inbox';
import type { DeliveryWindow } from './delivery-window';
import { HandOver } from './hand-over';
import { isUnsent, type LeasedEvent } from './held';
import type { LeaseTimers } from './leases';
import type { QueueStores } from './queue-stores';

export interface DeliveriesWork {
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
export class Deliveries {
  readonly #handOver = new HandOver({
    mayHand: () => this.stores.mayHandOver(),
    hand: (held) => this.#hand(held),
    haveLeft: (batch) => this.#markDelivered(batch),
  });

  constructor(
    private readonly stores: Pick<QueueStores, 'both' | 'mayHandOver' | 'isSettled'>,
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

  /** `mayHandOver` is true again. */
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
    const hurry = this.work.hasWaiting() || this.window.room <= 0;
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
