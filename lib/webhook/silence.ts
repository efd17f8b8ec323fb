import { within } from '../concurrency/timers';
import type { Slots } from '../inbox/slot';

/** Owner of the slots that say when a message was last proven, one for each endpoint. */
export const SILENCE_OWNER = 'watch:proven';
/** A slot ends so long after the last proven message: what is left of it tells its age by the clock of the store. Milliseconds. */
const SPAN = 10 * 365 * 24 * 60 * 60 * 1000;
/** Longest times, in milliseconds: between two questions, between two notes of a message, and after a start, when held messages come. */
const ASK_EVERY = 30_000;
const NOTE_EVERY = 60_000;
const GRACE = 120_000;
/** For the store, in milliseconds. */
const PATIENCE = 5000;
/** Between two looks, which ask nobody, in milliseconds. */
const LOOK_EVERY = 1000;

export interface SilenceOptions {
  place: Pick<Slots, 'slots' | 'putSlots'>;
  /** Of the endpoint, in the inbox: copies of a flow share it, and any of them may get the message. */
  endpointId: string;
  /** Milliseconds without a proven message that are too many; 0 = none are. */
  limit: number;
  /** Told once each time that it begins, of all instances one. */
  onSilent: () => void;
  /** Milliseconds of a clock that never jumps. */
  steady: () => number;
  /** Wall clock, in milliseconds. */
  now: () => number;
  /** Between two looks, in milliseconds. Default: 1,000. */
  every?: number;
}

/** How long ago a message was last proven at an endpoint, over restarts and for all instances. */
export class Silence {
  readonly #options: SilenceOptions;
  readonly #part: number;
  /** As of the steady clock; undefined while nobody has said. */
  #lastProven: number | undefined;
  #notedAt = -Infinity;
  #isTold = false;
  #version = 0;
  #askedAt = -Infinity;
  #isLooking = false;
  #startedAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SilenceOptions) {
    this.#options = options;
    this.#part = options.limit / 4;
  }

  /** Since when it lasts too long; undefined where it does not, `unknown` while the inbox has not said. */
  get since(): Date | 'unknown' | undefined {
    if (this.#options.limit === 0) return undefined;
    if (this.#lastProven === undefined) return 'unknown';
    return this.#isOver() ? new Date(this.#options.now() - this.#age()) : undefined;
  }

  /** The flows run, and messages can come. */
  start(): void {
    if (this.#options.limit === 0) return void this.forget();
    this.#startedAt = this.#options.steady();
    clearInterval(this.#timer);
    this.#askedAt = -Infinity;
    this.#timer = setInterval(() => void this.#lookOnce(), this.#options.every ?? LOOK_EVERY).unref();
    void this.#lookOnce();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A message was proven. */
  proven(): void {
    const { limit, steady } = this.#options;
    if (limit === 0) return;
    this.#lastProven = steady();
    if (steady() - this.#notedAt < Math.min(NOTE_EVERY, this.#part) && !this.#isTold) return;
    this.#note({});
  }

  /** Nobody asks for it any more: where somebody does later, it begins then. */
  async forget(): Promise<void> {
    const { place, endpointId } = this.#options;
    const known = await place.slots(SILENCE_OWNER).catch(() => undefined);
    if (known?.slots.some(({ name }) => name === endpointId) !== true) return;
    await place.putSlots(SILENCE_OWNER, [{ name: endpointId, value: undefined }]).catch(() => undefined);
  }

  #note(value: { told?: true }): void {
    const { place, endpointId, steady } = this.#options;
    this.#notedAt = steady();
    this.#isTold = false;
    // One that fails is made up for at the next look.
    place
      .putSlots(SILENCE_OWNER, [{ name: endpointId, value, lasts: SPAN }])
      .catch(() => (this.#notedAt = -Infinity));
  }

  async #lookOnce(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#look();
    } catch {
      // Whoever is told has failed, or the inbox: the next look comes all the same.
    } finally {
      this.#isLooking = false;
    }
  }

  async #look(): Promise<void> {
    const { steady, onSilent } = this.#options;
    const mayTell = this.#isOver() && !this.#isTold && this.#isSettled();
    const isTime = steady() - this.#askedAt >= Math.min(ASK_EVERY, this.#part);
    if (!mayTell && !isTime) return;
    this.#askedAt = steady();
    // Another instance may have had a message, or have told.
    await within(this.#read(), PATIENCE).catch(() => undefined);
    if (this.#isUnnoted()) this.#note({});
    if (!this.#isOver() || this.#isTold || !this.#isSettled()) return;
    this.#isTold = true;
    if (await this.#mayTell()) onSilent();
  }

  /** What was held while Node-RED started has come by now. */
  #isSettled(): boolean {
    const { steady } = this.#options;
    return steady() - (this.#startedAt ?? steady()) >= Math.min(GRACE, this.#part);
  }

  /** The store has failed to take the note of a message. */
  #isUnnoted(): boolean {
    return this.#lastProven !== undefined && this.#notedAt === -Infinity && this.#age() < this.#part;
  }

  async #read(): Promise<void> {
    const { place, endpointId, steady } = this.#options;
    const { slots } = await place.slots(SILENCE_OWNER);
    const slot = slots.find(({ name }) => name === endpointId);
    if (slot?.value === undefined) {
      // Nobody has asked so far.
      this.#lastProven ??= steady();
      await place.putSlots(SILENCE_OWNER, [{ name: endpointId, expected: 0, value: {}, lasts: SPAN }]);
      this.#notedAt = steady();
      return;
    }
    const at = steady() - Math.max(0, SPAN - (slot.left ?? SPAN));
    this.#lastProven = Math.max(this.#lastProven ?? -Infinity, at);
    this.#version = slot.version;
    this.#isTold = isTold(slot.value);
  }

  /** Of several instances the first one tells; without the inbox each. */
  async #mayTell(): Promise<boolean> {
    const { place, endpointId } = this.#options;
    const write = {
      name: endpointId,
      expected: this.#version,
      value: { told: true },
      lasts: Math.max(1, SPAN - this.#age()),
    };
    const outcomes = await within(place.putSlots(SILENCE_OWNER, [write]), PATIENCE).catch(() => undefined);
    return outcomes?.[0]?.written !== false;
  }

  #age(): number {
    return this.#options.steady() - (this.#lastProven ?? this.#options.steady());
  }

  #isOver(): boolean {
    return this.#age() > this.#options.limit;
  }
}

function isTold(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'told' in value && value.told === true;
}
