import type { Abort } from '../../concurrency/signals';
import { Admissions } from '../../concurrency/semaphore';
import { recordOf, type ProvenJudgement } from '../judge';
import { authenticate, type Authentication, type RawMessage } from '../proof/authenticate';
import type { ProofThread } from '../proof/proof-thread';
import { LARGE_BODY, takesLong } from '../proof/proof-work';
import type { ReceivingStation } from '../proof/receiving-station';
import { StationOrder } from '../proof/station-order';
import { AlarmOrder } from './alarm-order';

/** A message that is proven in the thread, and by what it is judged. */
export interface LongMessage {
  /** Its path, or what else tells those apart that have a share of their own in the thread, and their own order. */
  line: string;
  message: RawMessage;
  stations: readonly ReceivingStation[];
  /** Ends the waiting. */
  ending: Abort;
}

/** Why nobody can say whether such a message is genuine. */
export type LongFault = 'crowded' | 'too-late' | 'thread-ended';

/** What came of it. */
export type LongProof = ({ authentication: Authentication } | { fault: LongFault }) & {
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
export class Proofs {
  readonly #stations = new StationOrder();
  readonly #alarms = new AlarmOrder();
  readonly #lines = new Admissions(AT_THREAD, LINE_BYTES);

  constructor(private readonly thread: ProofThread) {}

  /** At once, however long it takes: where there is no thread to be had. */
  prove(message: RawMessage, stations: readonly ReceivingStation[]): Authentication {
    return authenticate(message, this.#stations.of(message.body, stations));
  }

  /**
   * At once, where that takes no time to speak of; undefined where it is for the thread. On a path of many stations a longer body
   * is tried with one of them all the same, whoever it names: so that one which is genuine, and of that station, needs no thread.
   */
  proveShort(message: RawMessage, stations: readonly ReceivingStation[]): Authentication | undefined {
    if (message.body.length > LARGE_BODY) return undefined;
    const inOrder = this.#stations.of(message.body, stations);
    if (!takesLong(message, inOrder)) return authenticate(message, inOrder);
    const found = authenticate(message, inOrder.slice(0, 1));
    return found.proven ? found : undefined;
  }

  /** In the thread. Never rejects. */
  async proveLong({ line, message, stations, ending }: LongMessage): Promise<LongProof> {
    const decided = this.#alarms.begin(line, message.body);
    const inOrder = this.#stations.of(message.body, stations);
    const found: Authentication[] = [];
    const prove = async (): Promise<void> =>
      void found.push(await this.thread.prove(message, inOrder, ending));
    const fault = await this.#lines
      .admit(line, { bytes: message.body.length, line: '', ending: () => ending }, prove)
      .then(
        (): LongFault => 'crowded',
        (): LongFault => 'thread-ended',
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
