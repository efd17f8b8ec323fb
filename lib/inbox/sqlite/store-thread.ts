import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { RvmError } from '../../error';
import type { CallName, Reply, Request, StoreCalls } from './protocol';

interface Pending {
  resolve: (give: unknown) => void;
  reject: (error: Error) => void;
}

const OPENED = 0;

/** The store in its thread, as the main thread sees it. */
export class StoreThread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #lastId = OPENED;
  #failure: RvmError | undefined;

  private constructor(file: string) {
    this.#worker = new Worker(path.join(__dirname, `worker${path.extname(__filename)}`), {
      workerData: file,
    });
    // A thread that waits for work keeps no process alive; one that has work does, by what waits for its answer.
    this.#worker.unref();
    this.#worker.on('message', (reply: Reply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#fail(error.message));
    this.#worker.on('exit', () => this.#fail('its thread has ended'));
  }

  /** @throws RvmError STORE_FAILED where the file cannot be opened, or not for this process alone */
  static async open(file: string): Promise<StoreThread> {
    const thread = new StoreThread(file);
    await new Promise<unknown>((resolve, reject) => thread.#pending.set(OPENED, { resolve, reject }));
    return thread;
  }

  /** @throws RvmError STORE_FAILED where nothing was changed */
  call<Name extends CallName>(name: Name, take: StoreCalls[Name]['take']): Promise<StoreCalls[Name]['give']> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#lastId += 1;
    const request: Request<Name> = { id: this.#lastId, name, take };
    return new Promise((resolve, reject) => {
      this.#pending.set(request.id, {
        resolve: (give) => resolve(give as StoreCalls[Name]['give']),
        reject,
      });
      this.#worker.postMessage(request);
    });
  }

  /** Ends the thread after what was asked of it; the file is free then. */
  async close(): Promise<void> {
    if (this.#failure !== undefined) return;
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    await this.call('close', undefined);
    await ended;
  }

  #settle({ id, give, error }: Reply): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (error === undefined) pending?.resolve(give);
    else pending?.reject(failed(error));
  }

  #fail(reason: string): void {
    this.#failure ??= failed(reason);
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }
}

function failed(reason: string): RvmError {
  return new RvmError('STORE_FAILED', `The inbox could not store: ${reason}`);
}
