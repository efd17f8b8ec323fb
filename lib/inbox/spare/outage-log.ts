import type { Consumer } from '../model';

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

  /** @param consumerOf undefined where nothing reaches a flow now */
  constructor(private readonly consumerOf: (nodeId: string) => Consumer | undefined) {}

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
    const consumer = this.consumerOf(nodeId);
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
