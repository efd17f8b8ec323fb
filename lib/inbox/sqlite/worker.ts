import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { checkDisk, fileSystemWarning, Reserve } from './disk';
import { isBroken, isFull, textOf } from './fault';
import type { Accepted, FromStore, Reply, Request, StoredMessage, StoreWarning, ToStore } from './protocol';
import { Store } from './store';

/** Between two attempts to open the file, in milliseconds. */
const RETRY = 1000;

interface WorkerData {
  file: string;
}

/**
 * The thread of a store: SQLite is synchronous, and a sync to the disk would stop all of Node-RED. Each batch is one
 * transaction, with one sync. After a fault of the disk the file is closed and opened again, checked as at a start.
 */
class StoreServer {
  readonly #reserve: Reserve;
  #store: Store | undefined;
  #wasOpen = false;
  /** Leases of a commit that failed: the main thread knows nothing of them, but they may be on the disk. */
  #doubtful: string[] = [];
  #triedAt = -Infinity;
  #fault = '';

  constructor(
    private readonly file: string,
    private readonly tell: (news: FromStore) => void,
  ) {
    this.#reserve = new Reserve(path.dirname(file));
    this.#open();
  }

  run(batch: readonly Request[]): void {
    if (this.#store === undefined) this.#open();
    this.tell({ replies: this.#answer(batch) });
    if (batch.some(({ name }) => name === 'tidy')) this.#lookAtDisk();
  }

  close(): void {
    this.#store?.close();
  }

  #open(): void {
    if (performance.now() - this.#triedAt < RETRY) return;
    this.#triedAt = performance.now();
    try {
      this.#store = new Store({ file: this.file, resumed: this.#wasOpen, doubtful: this.#doubtful });
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#doubtful = [];
    if (!this.#wasOpen) this.#warn(fileSystemWarning(path.dirname(this.file)));
    this.#wasOpen = true;
    this.tell({ opened: this.#store.opened });
  }

  #answer(batch: readonly Request[]): Reply[] {
    const store = this.#store;
    if (store === undefined) return batch.map(({ id }) => ({ id, error: this.#fault }));
    const gives: unknown[] = [];
    try {
      store.transaction(() => {
        for (const request of batch) gives.push(perform(store, request));
      });
      return batch.map(({ id }, index) => ({ id, give: gives[index] }));
    } catch (error) {
      if (isFull(error) && this.#reserve.release()) {
        this.#warn({ kind: 'reserve-used' });
        return this.#answer(batch);
      }
      if (isBroken(error)) {
        this.#doubtful = gives.flatMap((give, index) => leasedBy(batch[index], give));
        this.#close(error);
      } else if (isFull(error)) this.#failed(error);
      // What the store refuses for its own sake keeps no other out.
      else if (batch.length > 1) return batch.flatMap((request) => this.#answer([request]));
      return batch.map(({ id }) => ({ id, error: textOf(error) }));
    }
  }

  #close(error: unknown): void {
    try {
      this.#store?.close();
    } catch {
      // What it could not write any more, it will find in its log.
    }
    this.#store = undefined;
    this.#failed(error);
  }

  #failed(error: unknown): void {
    this.#fault = textOf(error);
    this.tell({ fault: this.#fault });
  }

  #lookAtDisk(): void {
    this.#reserve.keep();
    this.#warn(checkDisk(path.dirname(this.file)));
  }

  #warn(warning: StoreWarning | undefined): void {
    if (warning !== undefined) this.tell({ warning });
  }
}

function perform(store: Store, { name, take }: Request): unknown {
  // A name and its argument belong together; across the threads the compiler cannot see that.
  const work = store.work[name] as (argument: unknown) => unknown;
  return work(take);
}

/** Delivery ids that a request leased. */
function leasedBy(request: Request | undefined, give: unknown): string[] {
  if (request?.name === 'accept') {
    const { leased, deliveryId } = give as Accepted;
    return leased ? [deliveryId] : [];
  }
  return request?.name === 'lease' ? (give as StoredMessage[]).map(({ deliveryId }) => deliveryId) : [];
}

if (parentPort !== null) {
  const port = parentPort;
  const { file } = workerData as WorkerData;
  const server = new StoreServer(file, (news) => port.postMessage(news));
  port.on('message', (message: ToStore) => {
    if (message !== 'close') return server.run(message.batch);
    server.close();
    port.close();
  });
}
