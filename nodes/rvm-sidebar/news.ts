import type { NodeAPI } from 'node-red';
import { LONGEST_PAUSE, NEWS_TOPIC, type Overview } from './overview';

/** Milliseconds between two looks, and so between two pieces of news at least. */
const EVERY = 1000;
/** Milliseconds for which a sidebar counts as looked at after it has asked. */
const LASTING = 3 * LONGEST_PAUSE;
/** Seconds without a sign of life from which on each further one is news. */
const SILENT = 4;

/**
 * Tells the editors that the overview has changed, while a sidebar is looked at. Looks by itself, once for all editors, because
 * part of what the overview shows happens elsewhere: in other instances, in the clock, in nodes.
 */
export class SidebarNews {
  #timer: NodeJS.Timeout | undefined;
  #askedAt = -Infinity;
  #seen = '';

  constructor(
    private readonly RED: NodeAPI,
    private readonly read: () => Promise<Overview>,
  ) {}

  /** To be called when a sidebar asks for the overview. */
  asked(): void {
    this.#askedAt = performance.now();
    if (this.#timer === undefined) this.#wait();
  }

  #wait(): void {
    this.#timer = setTimeout(() => void this.#look(), EVERY).unref();
  }

  async #look(): Promise<void> {
    const isLookedAt = performance.now() - this.#askedAt < LASTING;
    // A sidebar that asks meets the error itself.
    const seen = isLookedAt ? await this.read().then(shownOf, String) : '';
    if (seen !== this.#seen && isLookedAt) this.RED.comms.publish(NEWS_TOPIC, {}, false);
    this.#seen = seen;
    if (isLookedAt) this.#wait();
    else this.#timer = undefined;
  }
}

/** What a sidebar shows: while an instance gives its signs of life, the time since the last one is no news. */
function shownOf(overview: Overview): string {
  return JSON.stringify(overview, (name, value: unknown) =>
    name === 'sinceBeat' ? Math.max(SILENT, Math.round(Number(value) / 1000)) : value,
  );
}
