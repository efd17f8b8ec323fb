import { RvmError } from '../../error';
import type { CallName, Opened, SlowBatch, StoreCalls, StoreWarning } from './protocol';

/** Asks of the store. Calls take effect in the order in which they are made. */
export interface StorePort {
  /**
   * @param hurry false where nobody waits for it: then it goes with the next call, or a moment later
   * @throws RvmError STORE_FAILED where nothing was changed
   */
  call<Name extends CallName>(
    name: Name,
    take: StoreCalls[Name]['take'],
    hurry?: boolean,
  ): Promise<StoreCalls[Name]['give']>;
  /** Ends it after what was asked of it; the file is free then. */
  close(): Promise<void>;
}

/** What a store tells by itself; never before the function that opens it has returned. */
export interface StoreNews {
  onOpened(opened: Opened): void;
  /** Told why it cannot store. */
  onFault(reason: string): void;
  onWarning(warning: StoreWarning): void;
  /** Told of a batch that took long, before it is answered. */
  onSlow(batch: SlowBatch): void;
}

const PREFIX = 'The inbox cannot store: ';

/** @param reason what failed and what to do, without anything of a message */
export function storeFailed(reason: string): RvmError {
  return new RvmError('STORE_FAILED', `${PREFIX}${reason}.`);
}

/** The reason within an error of the store. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault';
  const { message } = error;
  return message.startsWith(PREFIX) ? message.slice(PREFIX.length, -1) : message;
}
