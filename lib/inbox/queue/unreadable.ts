import type { Delivery } from '../model';
import type { AnyStore, LeasedMessage } from '../store/port';
import { deliveryOf } from '../store/stored-message';
import type { DeliveryWindow } from './delivery-window';
import { backOff, Deadlines } from './leases';

interface StoredEventsWork {
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

interface UnreadEventsWork {
  /** Never handed over: they wait again. Resolves when that is durable, or failed. */
  giveBack(deliveryIds: string[]): Promise<void>;
  /** Places of such are free. */
  freed(): void;
  /** The first could not be read, or the last was read or settled. */
  changed(): void;
  /** Told what an operator should know; nothing of an event. */
  log(line: string): void;
}

interface Paused {
  readonly deliveryId: string;
  /** How many of the places for health events it takes. */
  readonly health: 0 | 1;
}

/**
 * Leased events that the disk failed to give. It may give them later, so each goes back to those that wait after a pause, which
 * grows, for a sector may be lost for good. Until then it keeps its place in the window: a disk that gives nothing has no more
 * events leased than a flow that settles nothing.
 */
export class UnreadEvents {
  /** How often each could not be read in a row, those that wait to be leased again included. */
  readonly #failures = new Map<string, number>();
  readonly #paused = new Map<string, Paused>();
  readonly #deadlines = new Deadlines<Paused>((paused) => this.#isDue(paused));
  #due: Paused[] = [];

  constructor(
    private readonly window: DeliveryWindow,
    private readonly work: UnreadEventsWork,
  ) {}

  /** True from the first that could not be read until all were read or settled. */
  get hasAny(): boolean {
    return this.#failures.size > 0;
  }

  /** They were leased and could not be read. Told once until all were read: a disk that fails is not a line an event. */
  failed(events: readonly LeasedMessage[]): void {
    const [first] = events;
    if (first === undefined) return;
    const isNews = !this.hasAny;
    for (const event of events) this.#pause(event);
    if (!isNews) return;
    const others = events.length > 1 ? `, nor can ${events.length - 1} more` : '';
    this.work.log(
      `The stored event ${first.deliveryId} cannot be read now${others}; it is tried again. See to the disk.`,
    );
    this.work.changed();
  }

  /** Whether it is leased here. */
  isPaused(deliveryId: string): boolean {
    return this.#paused.has(deliveryId);
  }

  /** It was read, or is settled. */
  forget(deliveryId: string): void {
    this.#free(deliveryId);
    if (this.#failures.delete(deliveryId) && !this.hasAny) this.work.changed();
  }

  /** No pause ends before `resume`. */
  pause(): void {
    this.#deadlines.pause();
  }

  resume(): void {
    this.#deadlines.resume();
  }

  /** For the next consumer: the pauses do not count for it. */
  async giveAllBack(): Promise<void> {
    const hadAny = this.hasAny;
    this.#failures.clear();
    if (hadAny) this.work.changed();
    await this.#giveBack([...this.#paused.values()]);
  }

  /** They are leased here no more. */
  letAllGo(): void {
    for (const deliveryId of this.#failures.keys()) this.forget(deliveryId);
  }

  #pause({ deliveryId, rank }: LeasedMessage): void {
    this.#free(deliveryId);
    const failures = (this.#failures.get(deliveryId) ?? 0) + 1;
    const paused: Paused = { deliveryId, health: rank };
    this.#failures.set(deliveryId, failures);
    this.#paused.set(deliveryId, paused);
    this.window.reserve(1, paused.health);
    this.#deadlines.set(paused, backOff(failures));
  }

  #free(deliveryId: string): void {
    const paused = this.#paused.get(deliveryId);
    if (paused === undefined) return;
    this.#unpause(paused);
    this.window.release(1, paused.health);
  }

  #unpause(paused: Paused): void {
    this.#paused.delete(paused.deliveryId);
    this.#deadlines.clear(paused);
  }

  /** Those that were paused together go back together, or the first would be leased again before the others are there. */
  #isDue(paused: Paused): void {
    if (this.#due.length === 0) setImmediate(() => void this.#giveBack(this.#due.splice(0)));
    this.#due.push(paused);
  }

  async #giveBack(paused: readonly Paused[]): Promise<void> {
    // Not what was settled or given back meanwhile.
    const given = paused.filter((each) => this.#paused.get(each.deliveryId) === each);
    if (given.length === 0) return;
    for (const each of given) this.#unpause(each);
    await this.work.giveBack(given.map(({ deliveryId }) => deliveryId));
    // Not before: what is leased in their places must not come on top of them.
    for (const { health } of given) this.window.release(1, health);
    this.work.freed();
  }
}
