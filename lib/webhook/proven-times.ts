import { isRecord } from '../json/json';
import { withTimeout } from '../concurrency/timers';
import type { Slot, Slots } from '../inbox/slot';

/** Owner of the slots that say what is proven of the time, one for each Central Station; its sandbox has one of its own. */
const PROVEN_TIMES_OWNER = 'clock:proven';
/** How near two clocks must be to confirm each other. Milliseconds. */
export const AGREEMENT = 60 * 60 * 1000;
/** What is written is behind by up to this, in milliseconds: not each alarm costs a sync of the disk. */
const BEHIND = 10 * 60 * 1000;
/** Messages of which no other has confirmed the time: of more the first are forgotten. */
const MOST_ALONE = 8;
/** For a store that is being opened, in milliseconds: after that messages are judged without. */
const PATIENCE = 2000;
/** Other instances write, too: so often in a row that is met at most. */
const MOST_TRIES = 5;

/** When a message was sent, by the clock of its sender. */
export interface Sent {
  messageId: string;
  /** Milliseconds since 1970. */
  time: number;
}

/** What is proven of the time of a station. */
interface Proven {
  /** The newest time that something else has confirmed. */
  mark: Sent | undefined;
  /** Newer ones, which nothing has confirmed yet. */
  alone: readonly Sent[];
}

interface Station {
  proven: Proven;
  /** As it stands in the store. */
  written: Proven;
  version: number;
  isWriting: boolean;
}

type Place = Pick<Slots, 'slots' | 'putSlots' | 'watchSlots'>;

const NOTHING: Proven = { mark: undefined, alone: [] };

/**
 * The newest time at which a message of each station was sent, as far as that is proven: a second message, or the clock of the service,
 * says nearly the same. It stays in the inbox, so that a replay is known as one though the clock of this machine was never set. One
 * message from the future moves nothing, for all others would be too old then.
 */
export class ProvenTimes {
  readonly #stations = new Map<string, Station>();
  readonly #reading: Promise<void>;
  #isReady = false;
  #version = 0;

  constructor(private readonly place: Place) {
    this.#reading = withTimeout(this.#read(), PATIENCE).then(() => void (this.#isReady = true));
    place.watchSlots(PROVEN_TIMES_OWNER, () => void this.#read());
  }

  /** True once what the inbox knows is known here, or it cannot tell: nothing is judged before. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Resolves when it is ready, or the time for that is over. @param patience milliseconds that there are for that */
  async ready(patience: number): Promise<void> {
    await withTimeout(this.#reading, patience);
  }

  /**
   * The mark of a station, a proven message considered.
   * @param sent absent where nothing of the message tells
   * @param serviceTime what the clock of the service shows now, as far as it is known
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

  /** A store that fails tells when it is open again. */
  async #read(): Promise<void> {
    try {
      const { version, isAll, slots } = await this.place.slots(PROVEN_TIMES_OWNER, this.#version);
      this.#version = version;
      // An older copy of the file was put back: what is known here is written anew.
      if (isAll)
        for (const known of this.#stations.values()) Object.assign(known, { written: NOTHING, version: 0 });
      for (const slot of slots) this.#take(this.#of(slot.name), slot);
    } catch {
      // Without it nothing is compared, and every alarm is delivered.
    }
  }

  #take(known: Station, { value, version }: Slot): void {
    if (version <= known.version) return;
    known.version = version;
    known.written = provenIn(value);
    known.proven = merged(known.proven, known.written);
  }

  /** Nobody waits for it: what gets lost with the process lets one message raise that is too old. */
  async #write(name: string, known: Station): Promise<void> {
    if (known.isWriting) return;
    known.isWriting = true;
    for (let tries = 0; tries < MOST_TRIES && isDue(known); tries++) {
      const { proven } = known;
      const write = { name, expected: known.version, value: proven };
      const outcomes = await this.place.putSlots(PROVEN_TIMES_OWNER, [write]).catch(() => undefined);
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

/** By inbox, as long as there is one: the servers of a process share it. */
const ofInboxes = new WeakMap<Place, ProvenTimes>();

export function provenTimesOf(inbox: Place): ProvenTimes {
  const known = ofInboxes.get(inbox) ?? new ProvenTimes(inbox);
  ofInboxes.set(inbox, known);
  return known;
}

/** How it stands once a message is considered. One that was sent before the mark adds nothing. */
function withSent(proven: Proven, sent: Sent, serviceTime: number | undefined): Proven {
  const { mark, alone } = proven;
  if (sent.time <= (mark?.time ?? -Infinity)) return proven;
  if (serviceTime !== undefined && sent.time > serviceTime + AGREEMENT) return proven;
  // Sent again with its time renewed it is no second source.
  const others = alone.filter(({ messageId }) => messageId !== sent.messageId);
  const known = mark === undefined || mark.messageId === sent.messageId ? others : [mark, ...others];
  const agreeing = known.filter(({ time }) => Math.abs(time - sent.time) <= AGREEMENT);
  const isConfirmed =
    agreeing.length > 0 || (serviceTime !== undefined && sent.time >= serviceTime - AGREEMENT);
  if (!isConfirmed) return { mark, alone: [...others, sent].slice(-MOST_ALONE) };
  const newest = agreeing.reduce((one, other) => (other.time > one.time ? other : one), sent);
  return { mark: newest, alone: others.filter(({ time }) => time > newest.time) };
}

/** What two instances know. */
function merged(one: Proven, other: Proven): Proven {
  const isNewer = (other.mark?.time ?? -Infinity) > (one.mark?.time ?? -Infinity);
  const alone = [...other.alone, ...one.alone];
  const start = { mark: isNewer ? other.mark : one.mark, alone: [] };
  return alone.reduce((proven: Proven, sent) => withSent(proven, sent, undefined), start);
}

/** Without what the clock of the service says is in the future. */
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
