import { RvmError } from '../../error';
import type {
  AnyCall,
  CallName,
  LocalCall,
  OpenReport,
  SharedCall,
  SlowBatch,
  StoreCalls,
  StoreWarning,
  LeaseRequest,
} from './protocol';

/** Asks of the store. Calls that concern the same event or message take effect in the order in which they are made. */
export interface StorePort<Served extends CallName = LocalCall> {
  /**
   * @param hurry false where nobody waits for it: then it goes with the next call, or a moment later
   * @throws RvmError STORE_FAILED where nothing was changed
   */
  call<Name extends Served>(
    name: Name,
    take: StoreCalls[Name]['take'],
    hurry?: boolean,
  ): Promise<StoreCalls[Name]['give']>;
  /** Ends it after what was asked of it; the file is free then. */
  close(): Promise<void>;
}

/** A store of whichever kind. */
export type AnyStore = StorePort<AnyCall>;
/** A store that several instances share. */
export type SharedStore = StorePort<SharedCall> & {
  /** False from a moment on in which this instance might be taken for dead by others: what it has leased may be theirs. */
  mayHandOver(): boolean;
  /** This instance wants events, from now on or again. */
  takePart(): void;
  /**
   * It wants none until `takePart`, and is no instance meanwhile: what it has leased waits again, for the others. Resolves when
   * that is done, or the database has not answered for two seconds.
   */
  standAside(): Promise<void>;
};

/** What a store that several instances share tells besides. `onOpened` comes after each reconnect, too, with the same epoch. */
export interface SharedStoreEvents extends StoreEvents {
  /** Others took this instance for dead: all that it had leased waits again, or is theirs. A new epoch has begun. */
  onEpochLost(): void;
  /** `mayHandOver` is true again. */
  onMayHandOver(): void;
  /** Something waits that another instance accepted or gave back; of this endpoint, or of any. */
  onStirred(endpoint: string | undefined): void;
  /** How many events wait, by endpoint, as counted just now. */
  onWaiting(waiting: Record<string, number>): void;
  /** Another instance may have changed slots of this owner. */
  onSlots(owner: string): void;
  /** Another instance has settled an event that this one holds, or its flow wants it again, or longer. */
  onWish(deliveryId: string, wish: LeaseRequest): void;
}

/** What a store tells by itself; never before the function that opens it has returned. */
export interface StoreEvents {
  onOpened(opened: OpenReport): void;
  /** Told why it cannot store. */
  onFault(reason: string): void;
  onWarning(warning: StoreWarning): void;
  /** Told of a batch that took long, before it is answered. */
  onSlow(batch: SlowBatch): void;
}

/** Why a store that does not answer in time has failed. */
export const TOO_SLOW = 'it answers too slowly';

/** And one whose disk has no room, which is no fault of what it was to store. */
export const DISK_FULL = 'the disk is full: make room';

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
