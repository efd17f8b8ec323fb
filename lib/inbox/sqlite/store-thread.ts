import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { meter } from '../../meter';
import {
  type LocalCall,
  type OpenReport,
  type SlowBatch,
  type StoreCalls,
  type StoreEvents,
  storeFailed,
  type StorePort,
  type StoreWarning,
} from '../store/port';
import { faultText } from './database';

export interface StoreThreadOptions {
  /** A file in which the last sequence is remembered, outside the folder. */
  last?: string | undefined;
  /** True of a store beside an inbox that fails. */
  isSpare?: boolean;
}

export interface WorkerData {
  file: string;
  /** Longer than a thread lives: the process had the file open in another one. */
  resumed: boolean;
  own: StoreThreadOptions;
}

/** One call, on its way to the thread of a store. */
export interface Request {
  id: number;
  name: LocalCall;
  take: StoreCalls[LocalCall]['take'];
}

export interface Reply {
  id: number;
  give?: unknown;
  /** What failed; nothing of any message is in it. */
  error?: string;
}

/** Requests of one transaction at which no more are added: enough to share a sync, few enough to keep it short. */
export const BATCH = 500;

/** From the main thread: a batch of requests, or the wish to end. */
export type ToStore = { batch: Request[] } | 'close';

/** From the store. `opened` also after it was opened once more. */
export type FromStore =
  | { opened: OpenReport }
  | { fault: string }
  | { warning: StoreWarning }
  | { slow: SlowBatch }
  /** `took`: of a transaction that has changed something, in milliseconds. */
  | { replies: Reply[]; took?: number };

interface Pending {
  resolve: (give: unknown) => void;
  reject: (error: Error) => void;
}

/** Requests sent without waiting for more of the same turn of the event loop: meanwhile the thread works already. */
const SHARE = 16;
/** Milliseconds after which what nobody waits for is sent by itself. */
const NO_HURRY = 5;
/** Before a thread that has ended by itself is followed by another, in milliseconds. */
const PAUSE = 1000;

/** The store in its thread, as the main thread sees it. What is asked in one turn of the event loop is sent together. */
export class StoreThread implements StorePort {
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #queue: Request[] = [];
  #sending: NodeJS.Immediate | undefined;
  #sendingLater: NodeJS.Timeout | undefined;
  #lastId = 0;
  #wasOpen = false;
  #closing: Promise<void> | undefined;
  #closed: () => void = () => undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(
    private readonly file: string,
    private readonly news: StoreEvents,
    private readonly own: StoreThreadOptions = {},
  ) {
    this.#start();
  }

  call<Name extends LocalCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
    hurry = true,
  ): Promise<StoreCalls[Name]['give']> {
    if (this.#closing !== undefined) return Promise.reject(storeFailed('it is closed'));
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: (give) => resolve(give as StoreCalls[Name]['give']), reject });
      this.#queue.push({ id, name, take });
      if (this.#queue.length >= SHARE) this.#send();
      else if (hurry) this.#sending ??= setImmediate(() => this.#send());
      else this.#sendingLater ??= setTimeout(() => this.#send(), NO_HURRY);
    });
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#closed = resolve;
      clearTimeout(this.#pause);
      if (this.#worker === undefined) resolve();
    });
    this.#send();
    return this.#closing;
  }

  #start(): void {
    this.#pause = undefined;
    const worker = new Worker(path.join(__dirname, `store-server${path.extname(__filename)}`), {
      workerData: { file: this.file, resumed: this.#wasOpen, own: this.own } satisfies WorkerData,
    });
    this.#worker = worker;
    // A thread that waits for work keeps no process alive; one that has work does.
    worker.unref();
    let reason = 'its thread has ended';
    worker.on('message', (news: FromStore) => this.#hear(news));
    worker.on('error', ({ message }) => (reason = message));
    worker.on('exit', () => this.#lost(reason));
    this.#send();
  }

  #send(): void {
    clearImmediate(this.#sending);
    clearTimeout(this.#sendingLater);
    this.#sending = undefined;
    this.#sendingLater = undefined;
    const worker = this.#worker;
    if (worker === undefined) return;
    const orders: ToStore[] = [];
    while (this.#queue.length > 0) orders.push({ batch: this.#queue.splice(0, BATCH) });
    if (this.#closing !== undefined) orders.push('close');
    if (orders.length > 0) worker.ref();
    for (const order of orders) this.#post(worker, order);
  }

  /** What cannot be sent, of a value that cannot be copied, keeps nothing else from being sent. */
  #post(worker: Worker, order: ToStore): void {
    try {
      worker.postMessage(order);
    } catch (error) {
      if (order === 'close') throw error;
      if (order.batch.length > 1) {
        for (const request of order.batch) this.#post(worker, { batch: [request] });
        return;
      }
      for (const { id } of order.batch) this.#reply({ id, error: faultText(error) });
    }
  }

  #hear(news: FromStore): void {
    if ('replies' in news) {
      if (news.took !== undefined) meter()?.committed('sqlite', news.took / 1000);
      for (const reply of news.replies) this.#reply(reply);
      if (this.#pending.size === 0 && this.#closing === undefined) this.#worker?.unref();
    } else if ('opened' in news) {
      this.#wasOpen = true;
      this.news.onOpened(news.opened);
    } else if ('fault' in news) this.news.onFault(news.fault);
    else if ('slow' in news) this.news.onSlow(news.slow);
    else this.news.onWarning(news.warning);
  }

  #reply({ id, give, error }: Reply): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (error === undefined) pending?.resolve(give);
    else pending?.reject(storeFailed(error));
  }

  /** A thread that ended by itself, for want of memory say, is followed by another; what it was asked has failed. */
  #lost(reason: string): void {
    this.#worker = undefined;
    this.#queue = [];
    for (const { reject } of this.#pending.values()) reject(storeFailed(reason));
    this.#pending.clear();
    if (this.#closing !== undefined) return this.#closed();
    this.news.onFault(reason);
    this.#pause = setTimeout(() => this.#start(), PAUSE);
    this.#pause.unref();
  }
}
