import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { Semaphore } from '../../concurrency/semaphore';
import type { CancelToken } from '../../concurrency/signals';
import { cancellable } from '../../concurrency/timers';
import type { ProofResult, RawMessage } from './authenticate';
import type { ReceivingStation } from './receiving-station';

/** What there is to prove: the bytes are the thread's own. */
export interface ProofJob extends Pick<RawMessage, 'authorization'> {
  body: Uint8Array<ArrayBuffer>;
  stations: readonly ReceivingStation[];
}

/** What the thread has found. It tells stations by their places in the list: no phrase comes back. */
export type FoundProof = ProofResult<number>;

/** The same of other stations. */
export function withStations<From, To>(
  authentication: ProofResult<From>,
  as: (station: From) => To,
): ProofResult<To> {
  if (authentication.proven) return { ...authentication, station: as(authentication.station) };
  const { reason, burnt } = authentication;
  return { proven: false, reason, ...(burnt !== undefined && { burnt: as(burnt) }) };
}

interface Asked {
  resolve: (found: FoundProof) => void;
  reject: (reason: Error) => void;
}

const WORKER = path.join(__dirname, `proof-worker${path.extname(__filename)}`);

/**
 * Proves messages in a thread, one at a time, in the order in which they are asked for. The thread begins with the first of them
 * and keeps no process alive. One that ends by itself, for want of memory say, is followed by another with the next message; what
 * it was at is then not proven. Phrases go to it with each message, and nowhere else.
 */
export class ProofThread {
  readonly #place = new Semaphore(1);
  #worker: Worker | undefined;
  #asked: Asked | undefined;

  /** @param file what the thread runs */
  constructor(private readonly file = WORKER) {}

  /**
   * As `authenticate`.
   * @param ending ends the waiting, for its turn as for the outcome
   * @throws its reason; Error where the thread has ended
   */
  async prove(
    { body, authorization }: Pick<RawMessage, 'body' | 'authorization'>,
    stations: readonly ReceivingStation[],
    ending: CancelToken,
  ): Promise<ProofResult> {
    const leave = await this.#place.acquire(ending);
    // A copy, because it is handed over: the message is read here once it is proven. It takes less than a millisecond.
    const asking = this.#ask({ body: new Uint8Array(body), authorization, stations });
    // Also where nobody waits for it any more: one at a time.
    const found = await cancellable(ending, asking.finally(leave));
    return withStations(found, (place) => stationAt(stations, place));
  }

  #ask(job: ProofJob): Promise<FoundProof> {
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#started();
      this.#asked = { resolve, reject };
      this.#worker.postMessage(job, [job.body.buffer]);
    });
  }

  #started(): Worker {
    const worker = new Worker(this.file);
    worker.on('message', (found: FoundProof) => this.#asked?.resolve(found));
    // What went wrong may quote the message. That it has ended is all that anybody is told.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#asked?.reject(new Error('The thread that proves messages has ended.'));
    });
    // Only now: to listen to it holds the process again.
    worker.unref();
    return worker;
  }
}

/** The thread of this process: there is work for one. */
export const proofThread = new ProofThread();

function stationAt(stations: readonly ReceivingStation[], place: number): ReceivingStation {
  const station = stations[place];
  if (station === undefined) throw new Error('The thread has found a station that there is not.');
  return station;
}
