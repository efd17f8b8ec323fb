import { withTimeout } from '../concurrency/timers';
import type { Slots } from '../inbox/slot';
import type { DeadLetter, ProvenMessage } from '../message/record';
import { isSelfTest } from './problem';

/** Owner of the slots that store when a message was last proven, one for each endpoint. */
export const SILENCE_OWNER = 'watch:proven';
/**
 * Lifetime of a slot, in milliseconds. What is left of it tells the age of the last proven message by the clock of the store.
 */
const SPAN = 10 * 365 * 24 * 60 * 60 * 1000;
/**
 * Milliseconds, at most: between two reads of the store, between two writes after messages, and the grace after a start, when
 * held messages come.
 */
const ASK_EVERY = 30_000;
const NOTE_EVERY = 60_000;
const GRACE = 120_000;
/** Timeout for the store, in milliseconds. */
const TIMEOUT_MS = 5000;
/** Milliseconds between two local checks, which do not read the store. */
const LOOK_EVERY = 1000;

interface EndpointHealthOptions {
  store: Pick<Slots, 'slots' | 'putSlots'>;
  /** Id of the endpoint in the inbox. Copies of a flow share it, and any of them may get the message. */
  endpointId: string;
  /** Longest time without a proven message, in milliseconds; 0 = no limit. */
  limit: number;
  /** Called once each time the silence begins, in one instance of all. */
  onSilent: () => void;
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number;
  /** Wall clock, in milliseconds. */
  now: () => number;
  /** Milliseconds between two checks. Default: 1,000. */
  every?: number;
}

/**
 * What the proven messages of an endpoint show besides their content: how long ago the last one came, over restarts and for all
 * instances, and whether a clock is wrong.
 */
export class EndpointHealth {
  readonly #options: EndpointHealthOptions;
  readonly #part: number;
  /** Monotonic time; undefined until the store has answered. */
  #lastProven: number | undefined;
  #notedAt = -Infinity;
  #isReported = false;
  #version = 0;
  #askedAt = -Infinity;
  #isLooking = false;
  #isClockBehind: boolean | undefined;
  #startedAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EndpointHealthOptions) {
    this.#options = options;
    this.#part = options.limit / 4;
  }

  /** True where the last message was dated in the future; undefined before the first one. */
  get isClockBehind(): boolean | undefined {
    return this.#isClockBehind;
  }

  /** Begin of a silence that exceeds the limit; undefined where there is none, `unknown` until the store has answered. */
  get since(): Date | 'unknown' | undefined {
    if (this.#options.limit === 0) return undefined;
    if (this.#lastProven === undefined) return 'unknown';
    return this.#isOver() ? new Date(this.#options.now() - this.#age()) : undefined;
  }

  /** The flows run, and messages can come. */
  start(): void {
    if (this.#options.limit === 0) return void this.forget();
    this.#startedAt = this.#options.monotonic();
    clearInterval(this.#timer);
    this.#askedAt = -Infinity;
    this.#timer = setInterval(() => void this.#lookOnce(), this.#options.every ?? LOOK_EVERY).unref();
    void this.#lookOnce();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A message was proven and stored. Self-tests are ignored: they say nothing about the service. */
  accepted(record: ProvenMessage | DeadLetter): void {
    if (isSelfTest(record)) return;
    this.proven();
    if ('warnings' in record && !record.sandbox) this.#isClockBehind = record.warnings.includes('clock-skew');
  }

  /** A message was proven. */
  proven(): void {
    const { limit, monotonic } = this.#options;
    if (limit === 0) return;
    this.#lastProven = monotonic();
    if (monotonic() - this.#notedAt < Math.min(NOTE_EVERY, this.#part) && !this.#isReported) return;
    this.#note({});
  }

  /** Deletes the slot, because the limit was removed. A limit that is set later starts anew. */
  async forget(): Promise<void> {
    const { store, endpointId } = this.#options;
    const known = await store.slots(SILENCE_OWNER).catch(() => undefined);
    if (known?.slots.some(({ name }) => name === endpointId) !== true) return;
    await store.putSlots(SILENCE_OWNER, [{ name: endpointId, value: undefined }]).catch(() => undefined);
  }

  #note(value: { told?: true }): void {
    const { store, endpointId, monotonic } = this.#options;
    this.#notedAt = monotonic();
    this.#isReported = false;
    // A write that fails is repeated at the next check.
    store
      .putSlots(SILENCE_OWNER, [{ name: endpointId, value, lasts: SPAN }])
      .catch(() => (this.#notedAt = -Infinity));
  }

  async #lookOnce(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#look();
    } catch {
      // The listener or the inbox failed; the next check runs all the same.
    } finally {
      this.#isLooking = false;
    }
  }

  async #look(): Promise<void> {
    const { monotonic, onSilent } = this.#options;
    const mayReport = this.#isOver() && !this.#isReported && this.#isSettled();
    const isTime = monotonic() - this.#askedAt >= Math.min(ASK_EVERY, this.#part);
    if (!mayReport && !isTime) return;
    this.#askedAt = monotonic();
    // Another instance may have received a message, or have reported the silence.
    await withTimeout(this.#read(), TIMEOUT_MS).catch(() => undefined);
    if (this.#isUnnoted()) this.#note({});
    if (!this.#isOver() || this.#isReported || !this.#isSettled()) return;
    this.#isReported = true;
    if (await this.#mayReport()) onSilent();
  }

  /** True once messages that were held while Node-RED started have come. */
  #isSettled(): boolean {
    const { monotonic } = this.#options;
    return monotonic() - (this.#startedAt ?? monotonic()) >= Math.min(GRACE, this.#part);
  }

  /** True where the store failed to record a message. */
  #isUnnoted(): boolean {
    return this.#lastProven !== undefined && this.#notedAt === -Infinity && this.#age() < this.#part;
  }

  async #read(): Promise<void> {
    const { store, endpointId, monotonic } = this.#options;
    const { slots } = await store.slots(SILENCE_OWNER);
    const slot = slots.find(({ name }) => name === endpointId);
    if (slot?.value === undefined) {
      // No instance has watched this endpoint so far.
      this.#lastProven ??= monotonic();
      await store.putSlots(SILENCE_OWNER, [{ name: endpointId, expected: 0, value: {}, lasts: SPAN }]);
      this.#notedAt = monotonic();
      return;
    }
    const at = monotonic() - Math.max(0, SPAN - (slot.left ?? SPAN));
    this.#lastProven = Math.max(this.#lastProven ?? -Infinity, at);
    this.#version = slot.version;
    this.#isReported = isReported(slot.value);
  }

  /** True in the first instance that records the report; without the inbox, in each. */
  async #mayReport(): Promise<boolean> {
    const { store, endpointId } = this.#options;
    const write = {
      name: endpointId,
      expected: this.#version,
      value: { told: true },
      lasts: Math.max(1, SPAN - this.#age()),
    };
    const outcomes = await withTimeout(store.putSlots(SILENCE_OWNER, [write]), TIMEOUT_MS).catch(
      () => undefined,
    );
    return outcomes?.[0]?.written !== false;
  }

  #age(): number {
    return this.#options.monotonic() - (this.#lastProven ?? this.#options.monotonic());
  }

  #isOver(): boolean {
    return this.#age() > this.#options.limit;
  }
}

function isReported(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'told' in value && value.told === true;
}
