import type { Delivery } from '../inbox';
import type { AnyStore } from '../store/port';
import type { LeasedMessage } from '../store/protocol';
import { deliveryOf } from '../store/stored-message';
import type { UnreadEvents } from './unread-events';

export interface StoredEventsWork {
  /** It has been leased and read. */
  take(delivery: Delivery): void;
  /** One is a dead letter: the next of its alarm may go. */
  freed(): void;
  /** Does something after a pause. */
  later(act: () => void): void;
  /** Told what an operator should know; nothing of an event. */
  log(line: string): void;
}

/** Leased events as the store gives them: those that can be read go on. */
export class StoredEvents {
  constructor(
    private readonly store: AnyStore,
    private readonly unread: UnreadEvents,
    private readonly work: StoredEventsWork,
  ) {}

  take(events: readonly LeasedMessage[]): void {
    this.unread.failed(events.filter(({ isUnread }) => isUnread === true));
    for (const event of events) if (event.isUnread !== true) this.#takeRead(event);
  }

  #takeRead(event: LeasedMessage): void {
    this.unread.forget(event.deliveryId);
    const delivery = readDelivery(event);
    if (delivery === undefined) this.#unreadable(event.deliveryId);
    else this.work.take(delivery);
  }

  /** Only a damaged page, a change of the package, or of the file by hand, can bring this about. */
  #unreadable(deliveryId: string): void {
    this.work.log(`The stored event ${deliveryId} cannot be read any more; it is kept as a dead letter.`);
    const step = { time: Date.now(), step: 'dead', reason: 'unreadable' } as const;
    this.store.call('finish', { deliveryId, state: 'dead', give: false, step }).then(
      () => this.work.freed(),
      () => this.work.later(() => this.#unreadable(deliveryId)),
    );
  }
}

/** What a damaged disk has made of an event ends no Node-RED. */
function readDelivery(event: LeasedMessage): Delivery | undefined {
  try {
    return deliveryOf(event);
  } catch {
    return undefined;
  }
}
