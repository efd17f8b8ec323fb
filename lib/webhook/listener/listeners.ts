import { Listener, type ListenerOptions, type ListenerSettings } from './listener';
import type { ListenerPlace } from './listener-fault';

/** Time between the stop of the flows and the closing of all listeners, in milliseconds. */
const STOPPED_FOR_GOOD = 30_000;

/** The wish of one configuration for a listener, until it is released. */
export interface ListenerClaim {
  readonly listener: Listener;
  /** False where another configuration claimed the place before: its settings count. */
  isFirst(): boolean;
  release(): void;
}

interface Entry {
  key: string;
  settings: ListenerSettings;
}

/**
 * All listeners of a process, one for each port and host. They outlive a deploy: between two runs of the flows they
 * listen on, and what comes is held. Only when the flows have started is it known what is wanted, and only then ports
 * are opened and closed, so that no configured path is ever answered 404.
 */
export class Listeners {
  readonly #listeners = new Map<string, Listener>();
  /** Oldest first. */
  readonly #claims = new Set<Entry>();
  #settling: Promise<void> = Promise.resolve();
  #areRunning = false;
  #stopped: NodeJS.Timeout | undefined;

  constructor(private readonly options: ListenerOptions & { stoppedMs?: number } = {}) {}

  claim(place: ListenerPlace, settings: ListenerSettings): ListenerClaim {
    const key = `${place.port} ${place.host}`;
    const listener = this.#listeners.get(key) ?? new Listener(place, this.options);
    this.#listeners.set(key, listener);
    const claim = { key, settings };
    this.#claims.add(claim);
    return {
      listener,
      isFirst: () => this.#firstOf(key) === claim,
      release: () => this.#claims.delete(claim),
    };
  }

  /** Opens the ports that somebody is waiting on, with the settings of now, and closes all others. */
  flowsStarted(): Promise<void> {
    clearTimeout(this.#stopped);
    this.#areRunning = true;
    this.#settling = this.#settling.then(() => this.#settle());
    return this.#settling;
  }

  /** What comes is held. Where the flows do not start again soon, all ports close: refused is better than 404. */
  flowsStopping(): void {
    clearTimeout(this.#stopped);
    this.#areRunning = false;
    for (const { dispatcher } of this.#listeners.values()) dispatcher.flowsStopping();
    this.#stopped = setTimeout(() => void this.#closeAll(), this.options.stoppedMs ?? STOPPED_FOR_GOOD);
    this.#stopped.unref();
  }

  async #settle(): Promise<void> {
    // Between two runs of the flows claims are missing; the next start settles it.
    if (!this.#areRunning) return;
    const wanted: [Listener, ListenerSettings][] = [];
    const unwanted: Promise<void>[] = [];
    for (const [key, listener] of this.#listeners) {
      const claim = this.#firstOf(key);
      listener.dispatcher.flowsStarted();
      if (claim === undefined) unwanted.push(this.#giveUp(key, listener));
      else if (!listener.isWanted) unwanted.push(listener.close());
      else wanted.push([listener, claim.settings]);
    }
    // First those that free ports: one of them may be wanted now, with another host.
    await Promise.all(unwanted);
    await Promise.all(wanted.map(([listener, settings]) => listener.listen(settings)));
  }

  /** Nobody can claim this one any more: whoever wants the place gets another. What it holds would be held in vain. */
  #giveUp(key: string, listener: Listener): Promise<void> {
    this.#listeners.delete(key);
    listener.dispatcher.close();
    return listener.close();
  }

  async #closeAll(): Promise<void> {
    await Promise.all([...this.#listeners.values()].map((listener) => listener.close()));
  }

  #firstOf(key: string): Entry | undefined {
    for (const claim of this.#claims) if (claim.key === key) return claim;
    return undefined;
  }
}
