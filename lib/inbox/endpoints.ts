import type { EventQueues } from './queue/event-queues';
import type { AnyStore, StoreCalls } from './store/port';
import type { StoreHealth } from './store-health';

type Claim = StoreCalls['claimEndpoint']['take'] & {
  /** The node had another endpoint in this process. */
  isMove: boolean;
};
/** A node that is gone. */
type Leave = StoreCalls['leaveEndpoint']['take'] & { endpoint?: undefined };

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
    private readonly health: StoreHealth,
  ) {}

  /** An endpoint has a consumer, of this node: what the store is asked from now on, it is asked with what the node had elsewhere. */
  claim(endpoint: string, node: string): void {
    const former = this.#endpoints.get(node);
    this.#endpoints.set(node, endpoint);
    this.#nodes.set(endpoint, node);
    this.#forget(node);
    if (former !== undefined && former !== endpoint) this.#underWay.add(node);
    this.#say(node);
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

  /** @returns how many wait there then. @throws RvmError STORE_FAILED */
  async assign(from: string, { to, ...by }: { to: string; by?: string }): Promise<number> {
    const waiting = await this.store.call('assign', { from, to, ...by });
    this.#cameAlong(to, waiting);
    this.queues.of(from).waitingIs(0);
    return waiting;
  }

  /** Of those that came along some may be leased, and nobody holds them: they could not be given back where they were. */
  #cameAlong(endpoint: string, waiting: number): void {
    this.queues.of(endpoint).storeOpened(waiting);
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
      if (untold.endpoint !== undefined) return await this.#tellClaim(untold);
      await this.store.call('leaveEndpoint', { node: untold.node });
      this.#untold.delete(untold);
    } catch {
      // `tellRest` is called once it works.
      this.health.lookLater();
    } finally {
      this.#telling.delete(untold);
    }
  }

  /** Where no node is any more, nobody else counts what has gone along. */
  async #countLeft(): Promise<void> {
    if (this.#untold.size > 0 || this.queues.abandoned().length === 0) return;
    const open = await this.store.call('openByEndpoint', undefined).catch(() => undefined);
    if (open === undefined) return;
    for (const endpoint of this.queues.abandoned()) this.queues.of(endpoint).waitingIs(open[endpoint] ?? 0);
  }

  /** @throws RvmError STORE_FAILED */
  async #tellClaim(claim: Claim): Promise<void> {
    const { endpoint, node, isMove } = claim;
    const waiting = await this.store.call('claimEndpoint', { endpoint, node });
    this.#untold.delete(claim);
    // Nobody takes what waits under the name of a node.
    if (this.#endpoints.get(node) === endpoint) {
      this.#forget(node);
      if (isMove) this.#cameAlong(endpoint, waiting);
      else this.queues.of(endpoint).waitingIs(waiting);
    }
    void this.#countLeft();
  }
}
