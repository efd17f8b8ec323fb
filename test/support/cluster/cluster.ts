import { Authority } from '../network/authority';
import { ReverseProxy } from '../network/reverse-proxy';
import { PATH } from '../node-red/flows';
import { steadyNow } from '../time/steady';
import { eventually } from '../time/patience';
import { AlarmSender } from './alarm-sender';
import { ConfirmingSink } from './confirming-sink';
import type { HandOver } from './hand-overs';
import { ClusterProcess, type InstanceOptions } from './instance';
import { tallyOf, type Tally } from './tally';

/** Milliseconds between two looks at what was counted. */
const LOOK = 50;

/** Several real Node-RED behind a balancer, between a sender that resends and a sink that confirms. */
export class Cluster {
  readonly sink = new ConfirmingSink();
  sender!: AlarmSender;
  instances: readonly ClusterProcess[] = [];
  readonly #authority = new Authority();
  #balancer: ReverseProxy | undefined;
  /** When it was begun. */
  #round = 0;

  static async start(instances: readonly InstanceOptions[]): Promise<Cluster> {
    const cluster = new Cluster();
    try {
      await cluster.#start(instances);
      return cluster;
    } catch (error) {
      await cluster.end();
      throw error;
    }
  }

  /** The instance of a name. */
  instance(name: string): ClusterProcess {
    const found = this.instances.find((each) => each.name === name);
    if (found === undefined) throw new Error(`There is no instance ${name}.`);
    return found;
  }

  /** Of all instances, oldest first; of this round alone, unless told otherwise. */
  handOvers(since = this.#round): HandOver[] {
    const all = this.instances.flatMap(({ handOvers }) => handOvers.since(since));
    return all.sort((one, other) => one.at - other.at);
  }

  /** The sender goes on. What came of events before it is looked at no more, but by the tally: each of them is settled. */
  beginRound(pause: number): void {
    this.#round = steadyNow();
    this.sender.begin(pause);
  }

  /** Waits until so many more events are acknowledged. */
  async progress(count = 50): Promise<void> {
    const before = this.sender.acknowledged.length;
    const isThere = (): boolean => this.sender.acknowledged.length >= before + count;
    await this.until(isThere, `${count} more acknowledged events`);
  }

  /** The sink confirms nothing of this instance until it is let go. Resolves when its flow has so many events. */
  async load(instance: ClusterProcess, count = 3): Promise<void> {
    this.sink.hold(instance.name);
    const isLoaded = (): boolean => this.heldBy(instance).length >= count;
    await this.until(isLoaded, `${count} events at ${instance.name}`);
  }

  /** Waits until an instance has settled all that the sink has confirmed to it. */
  async settledBy(instance: ClusterProcess): Promise<void> {
    const { name, startedAt } = instance;
    const confirmed = this.sink.confirmations.filter((each) => each.instance === name && each.at > startedAt);
    const isSettled = (): boolean => {
      const settled = instance.settled();
      return confirmed.every(({ messageId }) => settled.has(messageId));
    };
    await this.until(isSettled, `${name} to settle what is confirmed`);
  }

  /** Events that are with the flow of an instance, and that the sink has not confirmed. */
  heldBy({ name }: ClusterProcess): string[] {
    const last = new Map(this.handOvers().map(({ messageId, instance }) => [messageId, instance]));
    return [...last].flatMap(([id, instance]) => (instance === name && !this.sink.has(id) ? id : []));
  }

  /**
   * Waits until other instances have these events of one.
   * @param since when it was ended, by `steadyNow`
   * @returns when they had the last of them, by `steadyNow`
   */
  async takenOver(from: ClusterProcess, events: readonly string[], since: number): Promise<number> {
    const first = new Map<string, number>();
    const isTaken = (): boolean => {
      for (const { messageId, instance, at } of this.handOvers())
        if (instance !== from.name && at > since && !first.has(messageId)) first.set(messageId, at);
      return events.every((id) => first.has(id));
    };
    await this.until(isTaken, `others to take over from ${from.name}`);
    return Math.max(...events.map((id) => first.get(id) ?? NaN));
  }

  /** Waits for a condition over what was sent, handed over and confirmed. */
  until(condition: () => boolean, what: string): Promise<void> {
    return eventually(condition, what, LOOK);
  }

  /** Lets the sender come to an end, waits until the sink has confirmed all that was acknowledged, and counts. */
  async tally(): Promise<Tally> {
    await this.sender.end();
    const isOver = (): boolean => this.sender.acknowledged.every(({ messageId }) => this.sink.has(messageId));
    // What is missing then is told by the tally, which says how many.
    await this.until(isOver, 'every event').catch(() => undefined);
    const { confirmations } = this.sink;
    return tallyOf({ sent: this.sender.sent, confirmations, handOvers: this.handOvers(0) });
  }

  /** Ends all that was started, and leaves nothing behind. */
  async end(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.remove()));
    await this.#balancer?.stop();
    await this.sender?.giveUp();
    await this.sink.stop();
    this.#authority.remove();
  }

  async #start(options: readonly InstanceOptions[]): Promise<void> {
    await this.sink.start();
    this.instances = await Promise.all(options.map((each) => ClusterProcess.prepare(each, this.sink)));
    const upstream = this.instances.map(({ reachedAt }) => reachedAt);
    this.#balancer = await ReverseProxy.start('nginx before several', {
      upstream,
      authority: new Authority(),
    });
    this.sender = new AlarmSender(`http://127.0.0.1:${this.#balancer.httpPort}${PATH}`);
    // Where one fails, none is still about to start when all are removed.
    const starts = await Promise.allSettled(this.instances.map((instance) => instance.start()));
    const failure = starts.find((start) => start.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }
}
