import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { Semaphore } from '../../concurrency/semaphore';
import type { CancelToken } from '../../concurrency/signals';
import { cancellable } from '../../concurrency/timers';
import type { ProofResult, RawMessage } from './authenticate';
import type { ReceivingStation } from './receiving-station';

/** A message to prove; its bytes belong to the thread. */
export interface ProofJob extends Pick<RawMessage, 'authorization'> {
  body: Uint8Array<ArrayBuffer>;
  stations: readonly ReceivingStation[];
}

/** Result of the thread. It contains indexes in place of stations, so no phrase comes back. */
export type FoundProof = ProofResult<number>;

/** The same result with other identifiers of its station. */
export function withStations<From, To>(
  authentication: ProofResult<From>,
  as: (station: From) => To,
): ProofResult<To> {
  if (authentication.proven) return { ...authentication, station: as(authentication.station) };
  const { reason, leaked } = authentication;
  return { proven: false, reason, ...(leaked !== undefined && { leaked: as(leaked) }) };
}

interface PendingProof {
  resolve: (found: FoundProof) => void;
  reject: (reason: Error) => void;
}

const WORKER = path.join(__dirname, `proof-worker${path.extname(__filename)}`);

/**
 * Proves messages in a thread, one at a time, in order of request. The thread starts with the first message and does not keep
 * the process alive. If it ends by itself, for example for want of memory, its current message is not proven, and the next
 * message starts another. Phrases are sent to it with each message, and nowhere else.
 */
export class ProofThread {
  readonly #permit = new Semaphore(1);
  #worker: Worker | undefined;
  #pending: PendingProof | undefined;

  /** @param file script of the thread */
  constructor(private readonly file = WORKER) {}

  /**
   * As `authenticate`.
   * @param ending cancels the wait for the permit and for the result
   * @throws its reason; Error where the thread has ended
   */
  async prove(
    { body, authorization }: Pick<RawMessage, 'body' | 'authorization'>,
    stations: readonly ReceivingStation[],
    ending: CancelToken,
  ): Promise<ProofResult> {
    const leave = await this.#permit.acquire(ending);
    // A copy, because the bytes are transferred, and the message is read here once it is proven. It takes
    // less than 1 ms.
    const asking = this.#ask({ body: new Uint8Array(body), authorization, stations });
    // The permit is released only then, even if no caller waits any more: one message at a time.
    const found = await cancellable(ending, asking.finally(leave));
    return withStations(found, (index) => stationAt(stations, index));
  }

  #ask(job: ProofJob): Promise<FoundProof> {
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#started();
      this.#pending = { resolve, reject };
      this.#worker.postMessage(job, [job.body.buffer]);
    });
  }

  #started(): Worker {
    const worker = new Worker(this.file);
    worker.on('message', (found: FoundProof) => this.#pending?.resolve(found));
    // The error may quote the message, so it is not reported; the exit is.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#pending?.reject(new Error('The thread that proves messages has ended.'));
    });
    // Only now, because adding listeners would keep the process alive again.
    worker.unref();
    return worker;
  }
}

/** The thread of this process; one is enough. */
export const proofThread = new ProofThread();

function stationAt(stations: readonly ReceivingStation[], index: number): ReceivingStation {
  const station = stations[index];
  if (station === undefined) throw new Error('The thread has found a station that there is not.');
  return station;
}
