import { Admissions } from '../concurrency/semaphore';
import type { CancelToken } from '../concurrency/signals';
import type { RvmEvent } from '../event';
import { textOfLiteral } from '../json/scan';
import { type ProvenJudgement, recordOf } from './judge';
import { authenticate, type ProofResult, bytesToHash, type RawMessage } from './proof/authenticate';
import type { ProofThread } from './proof/proof-thread';
import type { ReceivingStation } from './proof/receiving-station';

/** A message that is proven in the thread, and by what it is judged. */
interface WorkerProofJob {
  /** Its path, or what else tells those apart that have a share of their own in the thread, and their own order. */
  line: string;
  message: RawMessage;
  stations: readonly ReceivingStation[];
  /** Ends the waiting. */
  ending: CancelToken;
}

/** Why nobody can say whether such a message is genuine. */
export type WorkerProofError = 'crowded' | 'too-late' | 'thread-ended';

/** What came of it. */
type WorkerProof = ({ authentication: ProofResult } | { fault: WorkerProofError }) & {
  /** To be called once it is accepted, refused or given up: others of its alarm wait for that. */
  decided: () => void;
};

/** Of one line so many wait for the thread itself, four times as many behind them, and all their bodies take at most so many bytes. */
const AT_THREAD = 4;
const LINE_BYTES = 8 * 1024 * 1024;

/**
 * How a receiver proves messages: at once where that takes no time to speak of, in a thread where it does, and the events of one
 * alarm in the order in which they came. What waits for the thread is bounded line by line, far below what a path may have under
 * way, so that a flood of large forgeries takes neither the turn of another line nor the places of ordinary messages.
 */
export class Prover {
  readonly #stations = new StationGuess();
  readonly #alarms = new AlarmSequencer();
  readonly #lines = new Admissions(AT_THREAD, LINE_BYTES);

  constructor(private readonly thread: ProofThread) {}

  /** At once, however long it takes: where there is no thread to be had. */
  prove(message: RawMessage, stations: readonly ReceivingStation[]): ProofResult {
    return authenticate(message, this.#stations.of(message.body, stations));
  }

  /**
   * At once, where that takes no time to speak of; undefined where it is for the thread. On a path of many stations a longer body
   * is tried with one of them all the same, whoever it names: so that one which is genuine, and of that station, needs no thread.
   */
  proveInline(message: RawMessage, stations: readonly ReceivingStation[]): ProofResult | undefined {
    if (message.body.length > LARGE_BODY) return undefined;
    const inOrder = this.#stations.of(message.body, stations);
    if (!takesLong(message, inOrder)) return authenticate(message, inOrder);
    const found = authenticate(message, inOrder.slice(0, 1));
    return found.proven ? found : undefined;
  }

  /** In the thread. Never rejects. */
  async proveInWorker({ line, message, stations, ending }: WorkerProofJob): Promise<WorkerProof> {
    const decided = this.#alarms.begin(line, message.body);
    const inOrder = this.#stations.of(message.body, stations);
    const found: ProofResult[] = [];
    const prove = async (): Promise<void> =>
      void found.push(await this.thread.prove(message, inOrder, ending));
    const fault = await this.#lines
      .admit(line, { bytes: message.body.length, line: '', ending: () => ending }, prove)
      .then(
        (): WorkerProofError => 'crowded',
        (): WorkerProofError => 'thread-ended',
      );
    const [authentication] = found;
    if (authentication !== undefined) return { authentication, decided };
    return { fault: ending.reason === undefined ? fault : 'too-late', decided };
  }

  /**
   * Remembers who has sent a message that is proven now: the next of that sender is tried with the same station first.
   * @returns what it has to wait for, so that it overtakes none of its alarm; undefined where there is nothing
   */
  proven(line: string, { body }: RawMessage, judgement: ProvenJudgement): Promise<unknown> | undefined {
    const { event, stationKey } = recordOf(judgement);
    if (judgement.kind === 'usable') this.#stations.learn(event?.agentUserId, stationKey);
    return this.#alarms.before(line, body, event);
  }
}

/** A message that is not proven yet. */
interface Undecided {
  body: Uint8Array;
  /** Of all alarms that it may be of, once somebody asked. */
  alarmIds?: Set<string>;
  decided: Promise<void>;
}

/** Fields named `alarmId` that are looked at in a message: it has one, and a stranger may write any number. */
const MAX_IDS = 16;

/**
 * Keeps the events of an alarm in their order while the proof of one takes longer than that of the next. Only those that name the
 * same alarm wait for it: others pass, so that large forgeries hold up nothing.
 */
class AlarmSequencer {
  readonly #undecided = new Map<string, Set<Undecided>>();

  /**
   * Notes a message whose proof takes long.
   * @param line those of one line are in order
   * @returns to be called when it is accepted or refused
   */
  begin(line: string, body: Uint8Array): () => void {
    const all = this.#undecided.get(line) ?? new Set();
    this.#undecided.set(line, all);
    let resolve: () => void = () => undefined;
    const message = { body, decided: new Promise<void>((decide) => (resolve = decide)) };
    all.add(message);
    return () => {
      all.delete(message);
      if (all.size === 0 && this.#undecided.get(line) === all) this.#undecided.delete(line);
      resolve();
    };
  }

  /**
   * Resolves once all that came before a message and may be of the alarm of its event are decided; undefined where there are none.
   * @param body of the message
   */
  before(line: string, body: Uint8Array, event: RvmEvent | undefined): Promise<unknown> | undefined {
    const alarmId: unknown = event?.alarmId;
    if (typeof alarmId !== 'string' || alarmId === '') return undefined;
    const earlier: Promise<void>[] = [];
    for (const message of this.#undecided.get(line) ?? []) {
      if (message.body === body) break;
      if (alarmIdsOf(message).has(alarmId)) earlier.push(message.decided);
    }
    return earlier.length === 0 ? undefined : Promise.all(earlier);
  }
}

function alarmIdsOf(message: Undecided): Set<string> {
  return (message.alarmIds ??= new Set(unverifiedTexts(message.body, 'alarmId', MAX_IDS)));
}

/** Agent Users that are remembered; beyond it the oldest is forgotten, so that memory stays bounded. */
const MAX_LEARNED = 1000;
/** Longer ones are not remembered, in characters: the service's have 36. */
const MAX_LENGTH = 256;

/**
 * Which station a message is tried with first: the one whose Agent User it names, by the setting of the station, else by what
 * its phrase has proved before. A stranger may name any: the name changes how long a genuine message takes, never what is
 * genuine.
 */
export class StationGuess {
  /** Keys of stations by Agent User. */
  readonly #learned = new Map<string, string>();

  /** All stations, the named one first. */
  of(body: Uint8Array, stations: readonly ReceivingStation[]): readonly ReceivingStation[] {
    const first = stations.length > 1 ? this.#namedIn(body, stations) : undefined;
    return first === undefined ? stations : [first, ...stations.filter((station) => station !== first)];
  }

  /** Remembers which station has proved a message of this Agent User. */
  learn(agentUserId: unknown, stationKey: string): void {
    if (typeof agentUserId !== 'string' || agentUserId.length > MAX_LENGTH) return;
    const id = agentUserId.toLowerCase();
    if (this.#learned.get(id) === stationKey) return;
    this.#learned.delete(id);
    this.#learned.set(id, stationKey);
    if (this.#learned.size > MAX_LEARNED) this.#forgetOldest();
  }

  #namedIn(body: Uint8Array, stations: readonly ReceivingStation[]): ReceivingStation | undefined {
    // Of a long body its beginning will do: without a name the thread takes longer, and nothing else.
    const [named] = unverifiedTexts(body.subarray(0, LARGE_BODY), 'agentUserId', 1);
    if (named === undefined || named === '') return undefined;
    const id = named.toLowerCase();
    const configured = stations.find(
      ({ agentUserId }) => agentUserId.length === id.length && agentUserId.toLowerCase() === id,
    );
    if (configured !== undefined) return configured;
    const learned = this.#learned.get(id);
    return learned === undefined ? undefined : stations.find(({ key }) => key === learned);
  }

  #forgetOldest(): void {
    for (const oldest of this.#learned.keys()) {
      this.#learned.delete(oldest);
      return;
    }
  }
}

/**
 * Bodies that are longer are proven in a thread, in bytes: a hash or the JSON of 1 MiB would hold up all of Node-RED, and a
 * stranger may send as many as they like. Events are far smaller.
 */
export const LARGE_BODY = 64 * 1024;

/** Most that is hashed in the main thread to refuse a message, in bytes: half a millisecond where hashing takes no longer than that for 512 KiB. */
const MOST_HASHED = 8 * LARGE_BODY;
/**
 * Bodies of up to so many bytes never wait for the thread, however many phrases there are: they are what the service sends, and no
 * flood of larger ones may keep them out.
 */
const ORDINARY_BODY = 4 * 1024;

/** Whether a stranger's message would take long to refuse: each phrase of a path hashes all of the body. */
function takesLong(
  message: Pick<RawMessage, 'body' | 'authorization'>,
  stations: readonly ReceivingStation[],
): boolean {
  const { length } = message.body;
  if (length <= ORDINARY_BODY) return false;
  return length > LARGE_BODY || bytesToHash(message, stations) > MOST_HASHED;
}

/** Each with either case of its first letter, as in `field-names`. */
const NAMES = {
  agentUserId: ['"agentUserId"', '"AgentUserId"'],
  alarmId: ['"alarmId"', '"AlarmId"'],
} as const;

/** What follows a name. The characters of a value are bounded, escapes counted as they are written: ids are far shorter. */
const VALUE = /^[ \t\r\n]{0,8}:[ \t\r\n]{0,8}("(?:[^"\\]|\\[^]){0,256}")/;
/** No value ends farther behind its name than so many bytes. */
const MAX_REACH = 8 + 1 + 8 + 2 + 2 * 256;

/**
 * What seems to be the text of a field, wherever it stands in bytes that nobody has proved: so many names are looked at, in order.
 * Nothing is parsed but their texts, and the names are searched as bytes, so a stranger's take no longer than others: less than
 * a millisecond for 1 MiB. It may be wrong (a field of the same name elsewhere, a name in escapes), so it may only tell what is
 * looked at first.
 */
export function unverifiedTexts(body: Uint8Array, field: keyof typeof NAMES, most: number): string[] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  return NAMES[field]
    .flatMap((name) => endsOf(name, bytes, most))
    .sort((one, other) => one - other)
    .slice(0, most)
    .map((end) => textAt(bytes, end))
    .filter((text) => text !== undefined);
}

/** Where a name ends, in bytes: so many times at the most. */
function endsOf(name: string, bytes: Buffer, most: number): number[] {
  const ends: number[] = [];
  let at = bytes.indexOf(name);
  while (at >= 0 && ends.length < most) {
    ends.push(at + name.length);
    at = bytes.indexOf(name, at + name.length);
  }
  return ends;
}

/** The text behind a name. Undefined where there is none, or it is no JSON, such as one with a line feed. */
function textAt(bytes: Buffer, end: number): string | undefined {
  // One character a byte: what stands behind bytes that are no UTF-8 is found all the same.
  const literal = VALUE.exec(bytes.toString('latin1', end, end + MAX_REACH))?.[1];
  return literal === undefined ? undefined : textOfLiteral(Buffer.from(literal, 'latin1').toString('utf8'));
}
