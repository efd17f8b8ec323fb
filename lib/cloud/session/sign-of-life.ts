import { timerMs } from '../../concurrency/timers';
import { spread } from '../timing';

/** Who knows when the service was last asked for anything. */
interface Traffic {
  /** As of `performance.now()`. */
  readonly lastSentAt: number;
}

/**
 * Asks the service for a sign of life when nobody has asked it for anything for a while, so that one that died does not look
 * well until the next alarm.
 */
export class SignOfLife {
  readonly #quietMs: number;
  readonly #traffic: Traffic;
  readonly #ask: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * @param quietMs milliseconds without any request after which it asks; 0 = never
   * @param ask tells the state by itself of what comes of it
   */
  constructor(quietMs: number, traffic: Traffic, ask: () => Promise<void>) {
    this.#quietMs = quietMs;
    this.#traffic = traffic;
    this.#ask = ask;
  }

  /** Begins to wait, unless it does already. */
  start(): void {
    if (this.#timer === undefined) this.#wait(spread(this.#quietMs));
  }

  /** Asks now. */
  async ask(): Promise<void> {
    // Why there is none shows in the state.
    await this.#ask().catch(() => undefined);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    if (this.#quietMs <= 0 || this.#closed) return;
    this.#timer = setTimeout(() => void this.#askIfQuiet(), timerMs(ms));
    this.#timer.unref();
  }

  async #askIfQuiet(): Promise<void> {
    const quiet = performance.now() - this.#traffic.lastSentAt;
    if (quiet >= this.#quietMs) await this.ask();
    this.#wait(quiet >= this.#quietMs ? spread(this.#quietMs) : spread(this.#quietMs) - quiet);
  }
}
