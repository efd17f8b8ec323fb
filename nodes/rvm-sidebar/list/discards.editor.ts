import { postOnLeaving } from '../../support/editor/requests';

/** For which what was discarded can be had back, in milliseconds. */
const UNDO_MS = 10_000;

/** What is asked of the runtime, below `rvm/`. */
export interface Asked {
  path: string;
  body: object;
}

interface Discard {
  asked: Asked;
  timer: number;
  isSent: boolean;
}

/** What somebody has discarded, which is asked of the runtime only when nobody takes it back any more. */
export class Discards {
  readonly #all = new Map<string, Discard>();

  /** @param send asks the runtime; it tells the user itself where that fails */
  constructor(private readonly send: (asked: Asked) => Promise<unknown>) {
    window.addEventListener('pagehide', () => this.#leave());
  }

  /** @param changed called when it cannot be taken back any more, and when the runtime has answered */
  begin(key: string, asked: Asked, changed: () => void): void {
    const timer = window.setTimeout(() => void this.#end(key, changed), UNDO_MS);
    this.#all.set(key, { asked, timer, isSent: false });
  }

  undo(key: string): void {
    const discard = this.#all.get(key);
    if (discard === undefined || discard.isSent) return;
    window.clearTimeout(discard.timer);
    this.#all.delete(key);
  }

  /** `offered`: it can be had back; undefined where nobody has discarded it. */
  stateOf(key: string): 'offered' | 'sent' | undefined {
    const discard = this.#all.get(key);
    return discard && (discard.isSent ? 'sent' : 'offered');
  }

  async #end(key: string, changed: () => void): Promise<void> {
    const discard = this.#all.get(key);
    if (discard === undefined) return;
    discard.isSent = true;
    changed();
    await this.send(discard.asked);
    this.#all.delete(key);
    changed();
  }

  #leave(): void {
    for (const { asked, timer, isSent } of this.#all.values()) {
      window.clearTimeout(timer);
      if (!isSent) postOnLeaving(asked.path, asked.body);
    }
    this.#all.clear();
  }
}
