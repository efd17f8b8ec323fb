import type { Incident, FileIncident, Consumer } from './model';
import type { Endpoints } from './endpoints';
import type { EventQueues } from './queue/event-queues';
import type { InboxEvents } from './store-health';

interface Told {
  incident: Incident;
  /** Monotonic time. */
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

  constructor(
    private readonly queues: EventQueues,
    private readonly log: (news: InboxEvents) => void,
  ) {}

  /** Something befell the file of the inbox, or of a spare. */
  befell(incident: FileIncident): void {
    this.log(incident);
    this.#add(incident);
    this.queues.changed();
  }

  /** A message could be kept nowhere. */
  refused(reason: string): void {
    if (this.#refuses) return;
    this.#refuses = true;
    this.#add({ kind: 'refuses', reason });
  }

  /** The inbox can store. */
  takes(): void {
    if (!this.#refuses) return;
    this.#refuses = false;
    this.#add({ kind: 'takes' });
  }

  /** Some consumers may be reached that were not. */
  tellOwed(): void {
    for (const consumer of this.queues.reachable()) this.#tell(consumer);
  }

  /** The last that befell the file, and how long ago, in milliseconds; undefined where nothing did. */
  ofFile(): { is: FileIncident; ago: number } | undefined {
    for (const { incident, at } of this.#recent().toReversed())
      if (incident.kind !== 'refuses' && incident.kind !== 'takes')
        return { is: incident, ago: performance.now() - at };
    return undefined;
  }

  #add(incident: Incident): void {
    this.#all = [...this.#recent().slice(1 - MOST), { incident, at: performance.now(), to: new Set() }];
    this.tellOwed();
  }

  #tell(consumer: Consumer): void {
    for (const { incident, to } of this.#recent()) {
      if (to.has(consumer.nodeId)) continue;
      to.add(consumer.nodeId);
      consumer.onIncident(incident);
    }
  }

  #recent(): Told[] {
    const since = performance.now() - KEPT_FOR;
    return this.#all.filter(({ at }) => at >= since);
  }
}

/** From the first message of a webhook node that was spilled until all are in the inbox. */
interface Outage {
  /** Messages that were spilled. */
  spilled: number;
  /** Of those, how many are in the inbox by now. */
  entered: number;
  /** `none`: all of them were spilled by a former process, which told of it. */
  begin: 'none' | 'owed' | 'told';
  isOver: boolean;
}

/**
 * Of each webhook node, whose endpoint may change, how many messages were spilled since its inbox failed, and how many have
 * entered it since; its consumer is told of the begin and of the end, as soon as there is one.
 */
export class OutageLog {
  readonly #outages = new Map<string, Outage>();
  /** Messages of all nodes, since it was last asked for. */
  #entered = 0;

  constructor(
    private readonly queues: EventQueues,
    private readonly endpoints: Endpoints,
  ) {}

  spilled(nodeId: string): void {
    const outage = this.#count(nodeId);
    if (outage.begin === 'none') outage.begin = 'owed';
    this.tellOwed(nodeId);
  }

  /** What was spilled when its endpoint had no node is of this one. */
  adopt(endpoint: string, nodeId: string): void {
    const outage = this.#outages.get(endpoint);
    if (outage === undefined || this.#outages.has(nodeId)) return;
    this.#outages.delete(endpoint);
    this.#outages.set(nodeId, outage);
  }

  /** A former process had spilled it. */
  restored(nodeId: string): void {
    this.#count(nodeId);
  }

  /** One of those that were spilled is in the inbox. */
  entered(nodeId: string): void {
    this.#entered += 1;
    const outage = this.#outages.get(nodeId);
    if (outage !== undefined) outage.entered += 1;
  }

  /**
   * All that the inbox would have are in it.
   * @returns how many have entered since the last time, those of all nodes
   */
  over(): number {
    for (const [nodeId, outage] of this.#outages) {
      outage.isOver = true;
      this.tellOwed(nodeId);
    }
    const entered = this.#entered;
    this.#entered = 0;
    return entered;
  }

  /** Something reaches the flow again. */
  tellOwed(nodeId: string): void {
    const outage = this.#outages.get(nodeId);
    if (outage === undefined || (outage.begin !== 'owed' && !outage.isOver)) return;
    const consumer = this.queues.of(this.endpoints.endpointOf(nodeId) ?? nodeId).reachable;
    if (consumer === undefined) return;
    const { spilled, entered, isOver } = outage;
    outage.begin = 'told';
    if (isOver) this.#outages.delete(nodeId);
    consumer.onSpilled({ count: isOver ? entered : spilled, isOver });
  }

  /** One more, of a spell whose end nobody heard of perhaps: then it goes on. */
  #count(nodeId: string): Outage {
    const outage = this.#outages.get(nodeId) ?? { spilled: 0, entered: 0, begin: 'none', isOver: false };
    this.#outages.set(nodeId, outage);
    outage.spilled += 1;
    outage.isOver = false;
    return outage;
  }
}
