import { meter } from '../meter';
import type { InboxState } from './inbox';
import type { FileIncident } from './incident';
import { SlowStore, type HangingStore, type SlowPeriod } from './slow-store';
import type { StoreWarning } from './store/protocol';
import { reasonOf, TOO_SLOW } from './store/port';

/** What an operator should know of an inbox; nothing of an event. */
export type InboxEvents =
  | (StoreWarning & { folder?: string })
  | { kind: 'no-spill'; folder: string; reason: string }
  | { kind: 'fault'; reason: string }
  /** It can store again, after a fault that was told. */
  | { kind: 'back' }
  | FileIncident
  | { kind: 'spilling' }
  /** So many messages, those of all endpoints, are no longer kept beside it. */
  | { kind: 'read-back'; count: number }
  | { kind: 'left'; file: string }
  | SlowPeriod
  | HangingStore
  | { kind: 'line'; line: string };

export interface StoreHealthOptions {
  /** Between two looks at a store that fails, in milliseconds. */
  lookAgain: number;
  /** Asks whether the store works, and stores what was spilled. True when nothing is left to do. */
  recover: () => Promise<boolean>;
  changed: () => void;
  log: (news: InboxEvents) => void;
}

/** Between two lines about a fault that lasts, and about one that comes again after a moment, in milliseconds. */
const TELL_EVERY = 10 * 60 * 1000;
const COMES_AGAIN = 1000;

/** Whether a store can store; if not, it is asked again and again. */
export class StoreHealth {
  /** Told of what it took to store. */
  readonly slow: SlowStore;
  #state: InboxState = { durable: undefined };
  #recovering: Promise<boolean> | undefined;
  #toldSpilling = false;
  /** A fault was told, and not its end. */
  #owesEnd = false;
  /** The fault that was told last: a disk that fails again and again is not a line each time. */
  #told: { reason: string; at: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: StoreHealthOptions) {
    this.slow = new SlowStore(options.log);
  }

  get state(): InboxState {
    return this.#state;
  }

  works(): void {
    if (this.#state.durable === true) return;
    if (this.#told !== undefined && performance.now() - this.#told.at > COMES_AGAIN) this.#told = undefined;
    this.#state = { durable: true };
    if (this.#owesEnd) this.options.log({ kind: 'back' });
    this.#owesEnd = false;
    this.slow.ends();
    this.options.changed();
  }

  failed(reason: string): void {
    if (this.#closed) return;
    this.slow.forget();
    const isNews = this.#told?.reason !== reason || performance.now() - this.#told.at > TELL_EVERY;
    if (isNews) {
      this.#told = { reason, at: performance.now() };
      this.options.log({ kind: 'fault', reason });
      this.#owesEnd = true;
    }
    this.#cannotStore(reason);
  }

  /**
   * One that is being opened and checked is no fault yet, and one that fails has told of a better reason. What took so long is
   * known, and told, only once it answers.
   */
  tooSlow(): void {
    if (this.#closed || this.#state.durable !== true) return;
    this.slow.begins();
    this.#cannotStore(TOO_SLOW);
  }

  /** A message is in the spill file now. */
  spilled(): void {
    meter()?.spilled();
    if (!this.#toldSpilling) this.options.log({ kind: 'spilling' });
    this.#toldSpilling = true;
    this.lookLater();
  }

  /** Asked again meanwhile, it is the same try. @throws RvmError STORE_FAILED */
  recover(): Promise<boolean> {
    this.#recovering ??= this.#try().finally(() => {
      this.#recovering = undefined;
    });
    return this.#recovering;
  }

  /** Nobody may ask anything of a store that fails; so it is looked at. */
  lookLater(): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.recover().then(
        (isDone) => {
          if (!isDone) this.lookLater();
        },
        () => this.lookLater(),
      );
    }, this.options.lookAgain);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.slow.forget();
    clearTimeout(this.#timer);
    await this.#recovering?.catch(() => undefined);
  }

  #cannotStore(fault: string): void {
    this.#state = { durable: false, fault };
    this.options.changed();
    this.lookLater();
  }

  async #try(): Promise<boolean> {
    try {
      const isDone = await this.options.recover();
      if (isDone) this.#toldSpilling = false;
      this.works();
      return isDone;
    } catch (error) {
      this.failed(reasonOf(error));
      throw error;
    }
  }
}
