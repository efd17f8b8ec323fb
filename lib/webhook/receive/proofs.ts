import type { Abort } from '../../concurrency/abort';
import { Admissions } from '../bounds/admissions';
import { recordOf, type ProvenJudgement } from '../judge';
import { authenticate, type Authentication, type RawMessage } from '../proof/authenticate';
import type { ProofThread } from '../proof/proof-thread';
import type { ReceivingStation } from '../proof/receiving-station';
import { StationOrder } from '../proof/station-order';
import { AlarmOrder } from './alarm-order';

/** A message with a large body, and by what it is judged. */
export interface LargeMessage {
  /** Its path, or what else tells those apart that have a share of their own in the thread, and their own order. */
  line: string;
  message: RawMessage;
  stations: readonly ReceivingStation[];
  /** Ends the waiting. */
  ending: Abort;
}

/** Why nobody can say whether a large message is genuine. */
export type LargeFault = 'crowded' | 'too-late' | 'thread-ended';

/** What came of it. */
export type LargeProof = ({ authentication: Authentication } | { fault: LargeFault }) & {
  /** To be called once it is accepted, refused or given up: others of its alarm wait for that. */
  decided: () => void;
};

/** Of one line so many wait for the thread itself, four times as many behind them, and all their bodies take at most so many bytes. */
const AT_THREAD = 4;
const LINE_BYTES = 8 * 1024 * 1024;

/**
 * How a receiver proves messages: those of ordinary length at once, large ones in a thread, and the events of one alarm in the
 * order in which they came. What waits for the thread is bounded line by line, far below what a path may have under way, so that
 * a flood of large forgeries takes neither the turn of another line nor the places of small messages.
 */
export class Proofs {
  readonly #stations = new StationOrder();
  readonly #alarms = new AlarmOrder();
  readonly #lines = new Admissions(AT_THREAD, LINE_BYTES);

  constructor(private readonly thread: ProofThread) {}

  /** At once: for bodies of up to `LARGE_BODY` bytes, and where there is no thread to be had. */
  prove(message: RawMessage, stations: readonly ReceivingStation[]): Authentication {
    return authenticate(message, this.#stations.of(message.body, stations));
  }

  /** For longer ones. Never rejects. */
  async proveLarge({ line, message, stations, ending }: LargeMessage): Promise<LargeProof> {
    const decided = this.#alarms.begin(line, message.body);
    const inOrder = this.#stations.of(message.body, stations);
    const found: Authentication[] = [];
    const prove = async (): Promise<void> =>
      void found.push(await this.thread.prove(message, inOrder, ending));
    const fault = await this.#lines
      .admit(line, message.body.length, () => ending, prove)
      .then(
        (): LargeFault => 'crowded',
        (): LargeFault => 'thread-ended',
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
