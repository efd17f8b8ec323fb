import { KeyedSemaphore } from '../concurrency/semaphore';
import type { CancelToken } from '../concurrency/signals';
import type { RvmEvent } from '../event';
import { textOfLiteral } from '../json/scan';
import { type ProvenJudgement, recordOf } from './judge';
import { authenticate, type ProofResult, bytesToHash, type RawMessage } from './proof/authenticate';
import type { ProofThread } from './proof/proof-thread';
import type { ReceivingStation } from './proof/receiving-station';

/** Why it is unknown whether such a message is genuine. */
export type WorkerProofError = 'crowded' | 'too-late' | 'thread-ended';

/** Result of a job. */
type WorkerProof = ({ authentication: ProofResult } | { fault: WorkerProofError }) & {
  /** To be called once the message is accepted, refused or given up: later messages of its alarm wait for that. */
  decided: () => void;
};

/** Jobs of one key at the thread at a time (four times as many may wait), and bytes of all their bodies. */
const AT_THREAD = 4;
const LINE_BYTES = 8 * 1024 * 1024;

/**
 * Proves messages: in the main thread where that takes negligible time, else in the worker, and keeps the events of one alarm
 * in order of receipt. The queue of the worker is bounded for each key, far below the bound of requests under way on a path, so
 * that a flood of large forgeries delays neither other keys nor ordinary messages.
 */
export class Prover {
  readonly #stations = new StationGuess();
  readonly #alarms = new AlarmSequencer();
  readonly #queues = new KeyedSemaphore(AT_THREAD, LINE_BYTES);

  constructor(private readonly thread: ProofThread) {}

  /** In the main thread, however long it takes: for callers for whom the worker failed. */
  prove(message: RawMessage, stations: readonly ReceivingStation[]): ProofResult {
    return authenticate(message, this.#stations.of(message.body, stations));
  }

  /**
   * In the main thread where that takes negligible time; undefined where the message is for the worker. On a path of many
   * stations a longer body is still tried with the station that it seems to name, so that a genuine message of that station
   * needs no worker.
   */
  proveInline(message: RawMessage, stations: readonly ReceivingStation[]): ProofResult | undefined {
    if (message.body.length > LARGE_BODY) return undefined;
    const inOrder = this.#stations.of(message.body, stations);
    if (!takesLong(message, inOrder)) return authenticate(message, inOrder);
    const found = authenticate(message, inOrder.slice(0, 1));
    return found.proven ? found : undefined;
  }

  /**
   * In the worker. Never rejects.
   * @param key path of the message, or another key: each has its own share of the thread, and its own order
   * @param ending cancels the waiting
   */
  async proveInWorker(
    key: string,
    message: RawMessage,
    stations: readonly ReceivingStation[],
    ending: CancelToken,
  ): Promise<WorkerProof> {
    const { body } = message;
    const decided = this.#alarms.begin(key, body);
    const inOrder = this.#stations.of(body, stations);
    const failed = (fault: WorkerProofError): WorkerProof => ({
      fault: ending.reason === undefined ? fault : 'too-late',
      decided,
    });
    const release = await this.#queues.acquire(key, { bytes: body.length, queue: '', ending: () => ending });
    if (release === undefined) return failed('crowded');
    return this.thread
      .prove(message, inOrder, ending)
      .then((authentication): WorkerProof => ({ authentication, decided }))
      .catch(() => failed('thread-ended'))
      .finally(release);
  }

  /**
   * Remembers the station of a proven message: the next message of the same Agent User is tried with it first.
   * @returns resolves when the earlier messages of its alarm are decided; undefined where there are none
   */
  proven(key: string, { body }: RawMessage, judgement: ProvenJudgement): Promise<unknown> | undefined {
    const { event, stationKey } = recordOf(judgement);
    if (judgement.kind === 'usable') this.#stations.learn(event?.agentUserId, stationKey);
    return this.#alarms.before(key, body, event);
  }
}

/** A message that is not yet proven, refused or given up. */
interface Undecided {
  body: Uint8Array;
  /** Ids of all alarms that it may belong to, once they were needed. */
  alarmIds?: Set<string>;
  decided: Promise<void>;
}

/** Fields named `alarmId` that are read from a message: a genuine one has one, a stranger may write any number. */
const MAX_IDS = 16;

/**
 * Keeps the events of an alarm in order while the proof of one takes longer than that of the next. Only messages that name the
 * same alarm wait, so large forgeries delay nothing else.
 */
class AlarmSequencer {
  readonly #undecided = new Map<string, Set<Undecided>>();

  /**
   * Registers a message whose proof takes long.
   * @param key messages of one key are kept in order
   * @returns a function to call when the message is accepted or refused
   */
  begin(key: string, body: Uint8Array): () => void {
    const all = this.#undecided.get(key) ?? new Set();
    this.#undecided.set(key, all);
    const { promise: decided, resolve } = Promise.withResolvers<void>();
    const message = { body, decided };
    all.add(message);
    return () => {
      all.delete(message);
      if (all.size === 0 && this.#undecided.get(key) === all) this.#undecided.delete(key);
      resolve();
    };
  }

  /**
   * Resolves once all earlier messages that may belong to the same alarm are decided; undefined where there are none.
   * @param body of the message
   */
  before(key: string, body: Uint8Array, event: RvmEvent | undefined): Promise<unknown> | undefined {
    const alarmId: unknown = event?.alarmId;
    if (typeof alarmId !== 'string' || alarmId === '') return undefined;
    const earlier: Promise<void>[] = [];
    for (const message of this.#undecided.get(key) ?? []) {
      if (message.body === body) break;
      if (alarmIdsOf(message).has(alarmId)) earlier.push(message.decided);
    }
    return earlier.length === 0 ? undefined : Promise.all(earlier);
  }
}

function alarmIdsOf(message: Undecided): Set<string> {
  return (message.alarmIds ??= new Set(unverifiedTexts(message.body, 'alarmId', MAX_IDS)));
}

/** Agent Users remembered; beyond this number the oldest is forgotten, to bound the memory. */
const MAX_LEARNED = 1000;
/** Longer ids are not remembered, in characters: ids of the service have 36. */
const MAX_LENGTH = 256;

/**
 * Guesses which station to try first: the one whose configured Agent User the message names, else the one whose phrase proved
 * messages of this Agent User before. A stranger may name any: the guess changes how long a genuine message takes, never the
 * result.
 */
export class StationGuess {
  /** Keys of stations by Agent User. */
  readonly #learned = new Map<string, string>();

  /** All stations, the guessed one first. */
  of(body: Uint8Array, stations: readonly ReceivingStation[]): readonly ReceivingStation[] {
    const first = stations.length > 1 ? this.#namedIn(body, stations) : undefined;
    return first === undefined ? stations : [first, ...stations.filter((station) => station !== first)];
  }

  /** Remembers that a phrase of this station proved a message of this Agent User. */
  learn(agentUserId: unknown, stationKey: string): void {
    if (typeof agentUserId !== 'string' || agentUserId.length > MAX_LENGTH) return;
    const id = agentUserId.toLowerCase();
    if (this.#learned.get(id) === stationKey) return;
    this.#learned.delete(id);
    this.#learned.set(id, stationKey);
    const [oldest] = this.#learned.keys();
    if (this.#learned.size > MAX_LEARNED && oldest !== undefined) this.#learned.delete(oldest);
  }

  #namedIn(body: Uint8Array, stations: readonly ReceivingStation[]): ReceivingStation | undefined {
    // The beginning of a long body is enough: without a name the worker only takes longer.
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
}

/**
 * Longer bodies are proven in the worker, in bytes: a hash or the JSON of 1 MiB would block Node-RED, and a stranger may send
 * any number. Events are far smaller.
 */
export const LARGE_BODY = 64 * 1024;

/** Most bytes hashed in the main thread to refuse a message: 512 KiB, about 0.5 ms where a machine hashes 1 GB a second. */
const MOST_HASHED = 8 * LARGE_BODY;
/**
 * Bodies up to this length, in bytes, never go to the worker, however many phrases there are. The service sends such bodies,
 * and no flood of larger ones may delay them.
 */
const ORDINARY_BODY = 4 * 1024;

/** Whether refusing a message would take long: each phrase of a path hashes the whole body. */
function takesLong(
  message: Pick<RawMessage, 'body' | 'authorization'>,
  stations: readonly ReceivingStation[],
): boolean {
  const { length } = message.body;
  if (length <= ORDINARY_BODY) return false;
  return length > LARGE_BODY || bytesToHash(message, stations) > MOST_HASHED;
}

/** Each name with either case of its first letter, as `lib/message/envelope` reads them. */
const NAMES = {
  agentUserId: ['"agentUserId"', '"AgentUserId"'],
  alarmId: ['"alarmId"', '"AlarmId"'],
} as const;

/** The text after a name. Its length is bounded, with escapes counted as written: ids are far shorter. */
const VALUE = /^[ \t\r\n]{0,8}:[ \t\r\n]{0,8}("(?:[^"\\]|\\[^]){0,256}")/;
/** No value ends farther behind its name, in bytes. */
const MAX_REACH = 8 + 1 + 8 + 2 + 2 * 256;

/**
 * Texts of a field, wherever its name occurs in unproven bytes: the first `most` of them, in order. Only these texts are
 * parsed, and names are searched as bytes, so hostile bodies take no longer than others: less than 1 ms for 1 MiB. The result
 * may be wrong (a field of the same name elsewhere, escapes in a name), so it may only decide what is tried first.
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

/** Offsets behind each occurrence of a name, in bytes; `most` of them at most. */
function endsOf(name: string, bytes: Buffer, most: number): number[] {
  const ends: number[] = [];
  let at = bytes.indexOf(name);
  while (at >= 0 && ends.length < most) {
    ends.push(at + name.length);
    at = bytes.indexOf(name, at + name.length);
  }
  return ends;
}

/** The text behind a name; undefined where there is none, or it is no JSON, such as one with a line feed. */
function textAt(bytes: Buffer, end: number): string | undefined {
  // Latin-1 is one character a byte: a text behind bytes that are no UTF-8 is found as well.
  const literal = VALUE.exec(bytes.toString('latin1', end, end + MAX_REACH))?.[1];
  return literal === undefined ? undefined : textOfLiteral(Buffer.from(literal, 'latin1').toString('utf8'));
}
