import { isRecord } from '../json/json';
import { withTimeout } from '../concurrency/timers';
import type { Slot, Slots } from '../inbox/slot';

/** Owner of the slots that store the proven times, one for each Central Station; a sandbox has its own. */
const PROVEN_TIMES_OWNER = 'clock:proven';
/** Largest difference of two clocks that confirm each other, in milliseconds. */
export const AGREEMENT = 60 * 60 * 1000;
/** The stored mark may be this far behind, in milliseconds, so that not every alarm costs a disk sync. */
const BEHIND = 10 * 60 * 1000;
/** Unconfirmed times stored for a station; beyond this number the first are forgotten. */
const MOST_ALONE = 8;
/** Timeout for a store that is being opened, in milliseconds; after it messages are judged without proven times. */
const READ_TIMEOUT_MS = 2000;
/** Most attempts of a write, because other instances write as well. */
const MOST_TRIES = 5;

/** When a message was sent, by the clock of its sender. */
interface Sent {
  messageId: string;
  /** Milliseconds since 1970. */
  time: number;
}

/** Proven times of a station. */
interface Proven {
  /** The newest confirmed time. */
  mark: Sent | undefined;
  /** Newer times that are not confirmed yet. */
  alone: readonly Sent[];
}

interface Station {
  proven: Proven;
  /** The stored state. */
  written: Proven;
  version: number;
  isWriting: boolean;
}

type SlotStorage = Pick<Slots, 'slots' | 'putSlots' | 'watchSlots'>;

const NOTHING: Proven = { mark: undefined, alone: [] };

/**
 * The newest confirmed time at which a message of each station was sent. A time is confirmed by a second message, or by the
 * clock of the service, with nearly the same time. The inbox stores it, so that a replay is recognised even if the clock of
 * this machine was never set. A single message from the future moves nothing: otherwise all others would be too old.
 */
export class ProvenTimes {
  readonly #stations = new Map<string, Station>();
  readonly #reading: Promise<void>;
  #isReady = false;
  #version = 0;

  constructor(private readonly store: SlotStorage) {
    this.#reading = withTimeout(this.#read(), READ_TIMEOUT_MS).then(() => void (this.#isReady = true));
    store.watchSlots(PROVEN_TIMES_OWNER, () => void this.#read());
  }

  /** True once the inbox was read, or could not be: nothing is judged before. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Resolves when ready, or after the timeout. @param timeoutMs timeout in milliseconds */
  async ready(timeoutMs: number): Promise<void> {
    await withTimeout(this.#reading, timeoutMs);
  }

  /**
   * Adds a proven message, and returns the mark of its station.
   * @param sent absent where the message has no readable time
   * @param serviceTime current time of the service's clock, if known
   * @returns milliseconds since 1970; undefined where nothing is proven
   */
  with(
    station: { key: string; sandbox: boolean },
    sent: Sent | undefined,
    serviceTime: number | undefined,
  ): number | undefined {
    const name = station.sandbox ? `${station.key} sandbox` : station.key;
    const known = this.#of(name);
    if (serviceTime !== undefined) known.proven = upTo(known.proven, serviceTime + AGREEMENT);
    if (sent !== undefined) known.proven = withSent(known.proven, sent, serviceTime);
    void this.#write(name, known);
    return known.proven.mark?.time;
  }

  #of(name: string): Station {
    const known = this.#stations.get(name) ?? {
      proven: NOTHING,
      written: NOTHING,
      version: 0,
      isWriting: false,
    };
    this.#stations.set(name, known);
    return known;
  }

  /** A store that fails calls back when it is open again. */
  async #read(): Promise<void> {
    try {
      const { version, isAll, slots } = await this.store.slots(PROVEN_TIMES_OWNER, this.#version);
      this.#version = version;
      // An older copy of the file was restored: the known times are written again.
      if (isAll)
        for (const known of this.#stations.values()) Object.assign(known, { written: NOTHING, version: 0 });
      for (const slot of slots) this.#take(this.#of(slot.name), slot);
    } catch {
      // Without stored times no message is compared, and every alarm is delivered.
    }
  }

  #take(known: Station, { value, version }: Slot): void {
    if (version <= known.version) return;
    known.version = version;
    known.written = provenIn(value);
    known.proven = merged(known.proven, known.written);
  }

  /** No caller waits for the write. If it is lost with the process, one message that is too old may be delivered. */
  async #write(name: string, known: Station): Promise<void> {
    if (known.isWriting) return;
    known.isWriting = true;
    for (let tries = 0; tries < MOST_TRIES && isDue(known); tries++) {
      const { proven } = known;
      const write = { name, expected: known.version, value: proven };
      const outcomes = await this.store.putSlots(PROVEN_TIMES_OWNER, [write]).catch(() => undefined);
      const outcome = outcomes?.[0];
      if (outcome === undefined) break;
      if (!outcome.written) {
        if (outcome.slot === undefined) known.version = 0;
        else this.#take(known, outcome.slot);
      } else if (outcome.slot !== undefined) {
        known.version = outcome.slot.version;
        known.written = proven;
      }
    }
    known.isWriting = false;
  }
}

/** One for each inbox, shared by the servers of a process. */
const ofInboxes = new WeakMap<SlotStorage, ProvenTimes>();

export function provenTimesOf(inbox: SlotStorage): ProvenTimes {
  const known = ofInboxes.get(inbox) ?? new ProvenTimes(inbox);
  ofInboxes.set(inbox, known);
  return known;
}

/** The state after a message. A message sent before the mark adds nothing. */
function withSent(proven: Proven, sent: Sent, serviceTime: number | undefined): Proven {
  const { mark, alone } = proven;
  if (sent.time <= (mark?.time ?? -Infinity)) return proven;
  if (serviceTime !== undefined && sent.time > serviceTime + AGREEMENT) return proven;
  // A resend with a renewed time is no second source.
  const others = alone.filter(({ messageId }) => messageId !== sent.messageId);
  const known = mark === undefined || mark.messageId === sent.messageId ? others : [mark, ...others];
  const agreeing = known.filter(({ time }) => Math.abs(time - sent.time) <= AGREEMENT);
  const isConfirmed =
    agreeing.length > 0 || (serviceTime !== undefined && sent.time >= serviceTime - AGREEMENT);
  if (!isConfirmed) return { mark, alone: [...others, sent].slice(-MOST_ALONE) };
  const newest = agreeing.reduce((one, other) => (other.time > one.time ? other : one), sent);
  return { mark: newest, alone: others.filter(({ time }) => time > newest.time) };
}

/** Merges the knowledge of two instances. */
function merged(one: Proven, other: Proven): Proven {
  const isNewer = (other.mark?.time ?? -Infinity) > (one.mark?.time ?? -Infinity);
  const alone = [...other.alone, ...one.alone];
  const start = { mark: isNewer ? other.mark : one.mark, alone: [] };
  return alone.reduce((proven: Proven, sent) => withSent(proven, sent, undefined), start);
}

/** Removes times that are in the future by the clock of the service. */
function upTo(proven: Proven, latest: number): Proven {
  const isPast = ({ time }: Sent): boolean => time <= latest;
  if (proven.alone.every(isPast) && (proven.mark === undefined || isPast(proven.mark))) return proven;
  const { mark, alone } = proven;
  return { mark: mark !== undefined && isPast(mark) ? mark : undefined, alone: alone.filter(isPast) };
}

function isDue({ proven, written }: Station): boolean {
  if (proven.alone.some((sent) => !written.alone.some(({ time }) => time === sent.time))) return true;
  return Math.abs((proven.mark?.time ?? 0) - (written.mark?.time ?? 0)) >= BEHIND;
}

function provenIn(value: unknown): Proven {
  if (!isRecord(value)) return NOTHING;
  const { mark, alone } = value;
  return { mark: isSent(mark) ? mark : undefined, alone: Array.isArray(alone) ? alone.filter(isSent) : [] };
}

function isSent(value: unknown): value is Sent {
  return isRecord(value) && typeof value.messageId === 'string' && Number.isFinite(value.time);
}
