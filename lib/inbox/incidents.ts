import type { Incident, FileIncident, Consumer } from './model';
import type { EventQueues } from './queue/event-queues';

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
