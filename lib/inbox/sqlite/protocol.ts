import type { Accepted, NewMessage, OpenEvent } from './store';

/** What the main thread asks of the thread of the store. Each call is one transaction. */
export interface StoreCalls {
  accept: { take: NewMessage[]; give: Accepted[] };
  openEvents: { take: { endpoint: string; after: number; limit: number }; give: OpenEvent[] };
  lease: { take: string[]; give: void };
  release: { take: string[]; give: void };
  settle: { take: { deliveryIds: string[]; state: 'delivered' | 'dead' }; give: void };
  close: { take: undefined; give: void };
}

export type CallName = keyof StoreCalls;

export interface Request<Name extends CallName = CallName> {
  id: number;
  name: Name;
  take: StoreCalls[Name]['take'];
}

/** `id` 0: the store is open, or could not be opened. */
export interface Reply {
  id: number;
  give?: unknown;
  /** What failed; nothing of any message is in it. */
  error?: string;
}
