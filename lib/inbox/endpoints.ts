import type { Consumer, FileIncident, Incident } from './model';
import type { QueueStores } from './queue/backlog';
import { EventQueue } from './queue/event-queue';
import type { AnyStore, StoreCalls } from './store/port';

/** How long an answer of the store may be behind what another instance has told of it, in milliseconds. */
const REMEMBERED = 60_000;

/**
 * Events that another instance has settled while the answer that leases them here was still on its way: what is told comes on a
 * connection of its own, and may be faster.
 */
export class SettledElsewhere {
  /** By delivery id, when it was told, the oldest first. */
  readonly #told = new Map<string, number>();

  constructor(private readonly monotonic: () => number = () => performance.now()) {}

  add(deliveryId: string): void {
    const now = this.monotonic();
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
  /** By endpoint: what waited when the store was opened last. */
  #waiting: Readonly<Record<string, number>> = {};

  /**
   * @param changed told when a `waiting` has changed
   * @param log told what an operator should know; nothing of an event
   */
  constructor(
    private readonly stores: QueueStores,
    private readonly changed: () => void,
    private readonly log: (line: string) => void,
  ) {}

  /** That of an endpoint, from its first event or consumer on. */
  of(endpointId: string): EventQueue {
    const known = this.#queues.get(endpointId);
    if (known !== undefined) return known;
    const queue = new EventQueue(this.stores, endpointId, this.changed, this.log);
    this.#queues.set(endpointId, queue);
    queue.storeOpened(this.#waiting[endpointId] ?? 0);
    return queue;
  }

  /** The one in which an event is leased. */
  queueOf(deliveryId: string): EventQueue | undefined {
    for (const queue of this.#queues.values()) if (queue.holds(deliveryId)) return queue;
    return undefined;
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

  /** Another instance has given something to an endpoint; undefined: to any. */
  onNewWork(endpointId: string | undefined): void {
    for (const queue of this.#queues.values())
      if (endpointId === undefined || queue.endpointId === endpointId) queue.onNewWork();
  }

  /** What is leased may go to the flows again. */
  onLeaseSafe(): void {
    for (const queue of this.#queues.values()) queue.onLeaseSafe();
  }

  /** What was leased here is not any more. */
  leasesLost(): void {
    for (const queue of this.#queues.values()) queue.leasesLost();
  }

  /** So many events wait at an endpoint, those that came along from another one among them. */
  waitingIs(endpointId: string, waiting: number): void {
    this.of(endpointId).waitingIs(waiting);
  }

  /** Of those that came along some may be leased, and nobody holds them: they could not be given back where they were. */
  cameAlong(endpointId: string, waiting: number): void {
    this.of(endpointId).storeOpened(waiting);
  }

  /** The inbox works, and nothing is spilled any more. */
  storeWorks(): void {
    for (const queue of this.#queues.values()) queue.lookAnew();
  }

  /** The inbox does not answer. */
  onStoreTimeout(): void {
    for (const queue of this.#queues.values()) queue.onStoreTimeout();
  }

  /** Events of an endpoint that wait for their first delivery. */
  waiting(endpointId: string): number {
    return this.#queues.get(endpointId)?.waiting ?? this.#waitingUnseen(endpointId);
  }

  /** The same of all endpoints. */
  allWaiting(): number {
    return this.#known().reduce((sum, endpointId) => sum + this.waiting(endpointId), 0);
  }

  /** True while the disk fails to give events that it has. */
  get hasUnread(): boolean {
    return [...this.#queues.values()].some((queue) => queue.hasUnread);
  }

  hasConsumer(endpointId: string): boolean {
    return this.#queues.get(endpointId)?.consumer !== undefined;
  }

  /** Consumers that something can be told now. */
  reachable(): Consumer[] {
    return [...this.#queues.values()].flatMap(({ reachable }) => reachable ?? []);
  }

  get haveConsumers(): boolean {
    return [...this.#queues.values()].some((queue) => queue.consumer !== undefined);
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
    await Promise.all([...this.#queues.values()].map((queue) => queue.detach()));
  }

  /** Asks nothing of the store any more. */
  close(): void {
    for (const queue of this.#queues.values()) queue.close();
  }

  /** Endpoints that have a queue, or had something waiting when the store was opened. */
  #known(): string[] {
    return [...new Set([...Object.keys(this.#waiting), ...this.#queues.keys()])];
  }

  #waitingUnseen(endpointId: string): number {
    return (this.#waiting[endpointId] ?? 0) + this.stores.spilled.waiting(endpointId);
  }
}

interface Told {
  incident: Incident;
  /** Steady time. */
  at: number;
  /** Ids of the nodes that know it. */
  to: Set<string>;
}

/** Those that are kept for consumers to come, and for how long, in milliseconds. */
const MOST = 20;
const KEPT_FOR = 24 * 60 * 60 * 1000;

/** Tells each consumer of an inbox, once it can be told, what befell the inbox; and whoever asks, for a day. */
export class ToldIncidents {
  #all: Told[] = [];
  #refuses = false;

  /** @param monotonic milliseconds of a clock that never jumps */
  constructor(
    private readonly queues: EventQueues,
    private readonly monotonic: () => number = () => performance.now(),
  ) {}

  add(incident: Incident): void {
    this.#all = [...this.#recent().slice(1 - MOST), { incident, at: this.monotonic(), to: new Set() }];
    this.tellOwed();
  }

  /** A message could be kept nowhere. */
  refused(reason: string): void {
    if (this.#refuses) return;
    this.#refuses = true;
    this.add({ kind: 'refuses', reason });
  }

  /** The inbox can store. */
  takes(): void {
    if (!this.#refuses) return;
    this.#refuses = false;
    this.add({ kind: 'takes' });
  }

  /** Some consumers may be reached that were not. */
  tellOwed(): void {
    for (const consumer of this.queues.reachable()) this.#tell(consumer);
  }

  /** The last that befell the file, and how long ago, in milliseconds; undefined where nothing did. */
  ofFile(): { is: FileIncident; ago: number } | undefined {
    for (const { incident, at } of this.#recent().toReversed())
      if (incident.kind !== 'refuses' && incident.kind !== 'takes')
        return { is: incident, ago: this.monotonic() - at };
    return undefined;
  }

  #tell(consumer: Consumer): void {
    for (const { incident, to } of this.#recent()) {
      if (to.has(consumer.nodeId)) continue;
      to.add(consumer.nodeId);
      consumer.onIncident(incident);
    }
  }

  #recent(): Told[] {
    const since = this.monotonic() - KEPT_FOR;
    return this.#all.filter(({ at }) => at >= since);
  }
}

type Claim = StoreCalls['claimEndpoint']['take'] & {
  /** The node had another endpoint in this process. */
  isMove: boolean;
};
/** A node that is gone. */
type Leave = StoreCalls['leaveEndpoint']['take'] & { endpoint?: undefined };

interface EndpointsWork {
  /** The store failed: `tellRest` is to be called once it works. */
  lookAgain(): void;
  /** What is kept beside the inbox for a node, and was to go to another endpoint of it, goes to this one. */
  moved?(node: string, endpoint: string): void;
  /** And what is kept there of one endpoint goes to another. */
  assigned?(from: string, to: string): void;
}

/**
 * Which webhook nodes take the events of which endpoints, told to the store: what a node had elsewhere goes along with it. Two
 * nodes may exchange their paths in one deploy, or one may get that of another: so what goes along waits under the name of its
 * node until all nodes are there, and nothing of two nodes is mixed.
 */
export class Endpoints {
  /** By node: the endpoint that it has, or had last. */
  readonly #endpoints = new Map<string, string>();
  /** By endpoint: the node that has it, or had it last. */
  readonly #nodes = new Map<string, string>();
  /** Nodes whose events wait under their name. */
  readonly #underWay = new Set<string>();
  /** What the store does not know yet, in order. */
  readonly #untold = new Set<Claim | Leave>();
  /** Of those, what it is just being told. */
  readonly #telling = new Map<Claim | Leave, Promise<void>>();

  constructor(
    private readonly store: AnyStore,
    private readonly queues: EventQueues,
    private readonly work: EndpointsWork,
  ) {}

  /** An endpoint has a consumer, of this node: what the store is asked from now on, it is asked with what the node had elsewhere. */
  claim(endpoint: string, node: string): void {
    const former = this.#endpoints.get(node);
    this.#endpoints.set(node, endpoint);
    this.#nodes.set(endpoint, node);
    this.#forget(node);
    if (former !== undefined && former !== endpoint) this.#underWay.add(node);
    this.#say(node);
    this.work.moved?.(node, endpoint);
  }

  /** All nodes of the flows are there. To be called before anything is leased for this one. */
  arrived(node: string): void {
    if (this.#underWay.delete(node)) this.#say(node, true);
  }

  /** A node is gone for good: what waits at its endpoint stays there, for whoever has that next. */
  leave(node: string): void {
    this.#forget(node);
    this.#untold.add({ node });
    this.tellRest();
  }

  /** The store is open, perhaps once more, and perhaps another than before. To be called before anything is leased of it. */
  storeOpened(): void {
    for (const [endpoint, node] of this.#nodes) {
      if (!this.queues.hasConsumer(endpoint)) continue;
      this.#forget(node);
      this.#say(node);
    }
  }

  /** Tells the store what it has not been told. */
  tellRest(): void {
    for (const each of this.#untold) if (!this.#telling.has(each)) this.#telling.set(each, this.#tell(each));
  }

  /** Resolves when the store has answered what it was told so far. */
  async told(): Promise<void> {
    await Promise.all(this.#telling.values());
  }

  /** The node that has an endpoint, or had it last. */
  nodeOf(endpoint: string): string | undefined {
    return this.#nodes.get(endpoint);
  }

  /** The endpoint that a node has, or had last. */
  endpointOf(node: string): string | undefined {
    return this.#endpoints.get(node);
  }

  /** Where that goes now which came by an endpoint: its node may have another one meanwhile. */
  atPresent<Received extends { endpointId: string }>(received: Received): Received {
    const { endpointId } = received;
    const node = this.queues.hasConsumer(endpointId) ? undefined : this.nodeOf(endpointId);
    const present = node === undefined ? undefined : this.endpointOf(node);
    return present === undefined ? received : { ...received, endpointId: present };
  }

  /** By endpoint: events that are open. @throws RvmError STORE_FAILED */
  open(): Promise<Record<string, number>> {
    return this.store.call('openByEndpoint', undefined);
  }

  /** @returns how many wait there then. @throws RvmError STORE_FAILED */
  async assign(from: string, { to, ...by }: { to: string; by?: string }): Promise<number> {
    const waiting = await this.store.call('assign', { from, to, ...by });
    this.queues.cameAlong(to, waiting);
    this.queues.waitingIs(from, 0);
    this.work.assigned?.(from, to);
    return waiting;
  }

  #say(node: string, isMove = false): void {
    const endpoint = this.#endpoints.get(node);
    if (endpoint === undefined) return;
    this.#untold.add({ node, endpoint: this.#underWay.has(node) ? node : endpoint, isMove });
    this.tellRest();
  }

  /** Of where a node was before, or is said to be once more, the store need not know any more. */
  #forget(node: string): void {
    for (const each of this.#untold) if (each.node === node) this.#untold.delete(each);
  }

  async #tell(untold: Claim | Leave): Promise<void> {
    try {
      if (untold.endpoint === undefined) await this.#tellLeave(untold);
      else await this.#tellClaim(untold);
    } catch {
      this.work.lookAgain();
    } finally {
      this.#telling.delete(untold);
    }
  }

  /** @throws RvmError STORE_FAILED */
  async #tellLeave(leave: Leave): Promise<void> {
    await this.store.call('leaveEndpoint', { node: leave.node });
    this.#untold.delete(leave);
  }

  /** Where no node is any more, nobody else counts what has gone along. */
  async #countLeft(): Promise<void> {
    if (this.#untold.size > 0 || this.queues.abandoned().length === 0) return;
    const open = await this.open().catch(() => undefined);
    if (open === undefined) return;
    for (const endpoint of this.queues.abandoned()) this.queues.waitingIs(endpoint, open[endpoint] ?? 0);
  }

  /** @throws RvmError STORE_FAILED */
  async #tellClaim(claim: Claim): Promise<void> {
    const { endpoint, node, isMove } = claim;
    const waiting = await this.store.call('claimEndpoint', { endpoint, node });
    this.#untold.delete(claim);
    // Nobody takes what waits under the name of a node.
    if (this.#endpoints.get(node) === endpoint) {
      this.#forget(node);
      if (isMove) this.queues.cameAlong(endpoint, waiting);
      else this.queues.waitingIs(endpoint, waiting);
    }
    void this.#countLeft();
  }
}
