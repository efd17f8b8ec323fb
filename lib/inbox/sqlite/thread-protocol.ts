import type { LocalCall, OpenReport, SlowBatch, StoreCalls, StoreWarning } from '../store/protocol';

/** One call, on its way to the thread of a store. */
export interface Request<Name extends LocalCall = LocalCall> {
  id: number;
  name: Name;
  take: StoreCalls[Name]['take'];
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
