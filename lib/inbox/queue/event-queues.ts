import type { Consumer } from '../model';
import type { QueueStores } from './backlog';
import type { HeldEvents } from './delivery-window';
import { EventQueue } from './event-queue';

/** How long an answer of the store may be behind what another instance has told of it, in milliseconds. */
const REMEMBERED = 60000;
/**
 * Events that another instance has settled while the answer that leases them here was still on its way: what is told comes on a
 * connection of its own, and may be faster.
 */
export class SettledElsewhere {
  /** By delivery id, when it was told, the oldest first. */
  readonly #told = new Map<string, number>();

  add(deliveryId: string): void {
    const now = performance.now();
    for (const [id, at] of this.#told) {
      if (now - at < REMEMBERED) break;
      this.#told.delete(id);
    }
    this.#told.set(deliveryId, now);
  }

  has(deliveryId: string): boolean {
    return this.#told.has(deliveryId);
  }
}

/** The queues of an inbox, one for each endpoint. */
export class EventQueues {
  readonly #queues = new Map<string, EventQueue>();
  /** What is leased here, of all of them. */
  readonly #held: HeldEvents = new Map();
  /** By endpoint: what waited when the store was opened last. */
  #waiting: Readonly<Record<string, number>> = {};
  #stores!: QueueStores;

  /**
   * @param changed to be told when a `waiting` has changed
   * @param log told what an operator should know; nothing of an event
   */
  constructor(
    readonly changed: () => void,
    private readonly log: (line: string) => void,
  ) {}

  /** To be called before anything is asked of it. */
  connect(stores: QueueStores): void {
    this.#stores = stores;
  }

  /** That of an endpoint, from its first event or consumer on. */
  of(endpointId: string): EventQueue {
    const known = this.#queues.get(endpointId);
    if (known !== undefined) return known;
    const queue = new EventQueue(this.#stores, endpointId, this.#held, this.changed, this.log);
    this.#queues.set(endpointId, queue);
    queue.storeOpened(this.#waiting[endpointId] ?? 0);
    return queue;
  }

  all(): EventQueue[] {
    return [...this.#queues.values()];
  }

  /** The one in which an event is leased. */
  queueOf(deliveryId: string): EventQueue | undefined {
    const held = this.#held.get(deliveryId);
    return held && this.#queues.get(held.endpointId);
  }

  /** Milliseconds; undefined where the flow does not have an event that it has to settle. */
  leaseOf(deliveryId: string): number | undefined {
    const consumer = this.queueOf(deliveryId)?.consumer;
    return consumer?.handledWhen === 'settled' ? consumer.redeliverAfter : undefined;
  }

  /** The store is open, perhaps once more, with so many events that wait. */
  storeOpened(waiting: Readonly<Record<string, number>>): void {
    this.#waiting = waiting;
    for (const [endpointId, queue] of this.#queues) queue.storeOpened(waiting[endpointId] ?? 0);
  }

  /** So many events wait, by endpoint, as just counted. */
  waitingAre(waiting: Readonly<Record<string, number>>): void {
    this.#waiting = waiting;
    for (const [endpointId, queue] of this.#queues) queue.waitingIs(waiting[endpointId] ?? 0);
  }

  /** More of an endpoint wait beside the inbox, or may go now. */
  waitsBeside(endpointId: string): void {
    this.of(endpointId).lookAnew();
    this.changed();
  }

  /** Another instance has given something to an endpoint; undefined: to any. */
  onNewWork(endpointId: string | undefined): void {
    for (const queue of this.all())
      if (endpointId === undefined || queue.endpointId === endpointId) queue.onNewWork();
  }

  /** The inbox works, and nothing is spilled any more. */
  storeWorks(): void {
    for (const queue of this.all()) queue.lookAnew();
  }

  /** Events of an endpoint that wait for their first delivery. */
  waiting(endpointId: string): number {
    const unseen = (): number => (this.#waiting[endpointId] ?? 0) + this.#stores.spilled.waiting(endpointId);
    return this.#queues.get(endpointId)?.waiting ?? unseen();
  }

  /** The same of all endpoints. */
  allWaiting(): number {
    return this.#known().reduce((sum, endpointId) => sum + this.waiting(endpointId), 0);
  }

  hasConsumer(endpointId: string): boolean {
    return this.#queues.get(endpointId)?.consumer !== undefined;
  }

  /** Consumers that something can be told now. */
  reachable(): Consumer[] {
    return this.all().flatMap(({ reachable }) => reachable ?? []);
  }

  /** Endpoints that have events waiting. */
  endpointsWaiting(): string[] {
    return this.#known().filter((endpointId) => this.waiting(endpointId) > 0);
  }

  /** Endpoints that have events waiting and no consumer. */
  abandoned(): string[] {
    return this.endpointsWaiting().filter((endpointId) => !this.hasConsumer(endpointId));
  }

  /** Gives everything back. Resolves when that is durable, or failed. */
  async detach(): Promise<void> {
    await Promise.all(this.all().map((queue) => queue.detach()));
  }

  /** Endpoints that have a queue, or had something waiting when the store was opened. */
  #known(): string[] {
    return [...new Set([...Object.keys(this.#waiting), ...this.#queues.keys()])];
  }
}
