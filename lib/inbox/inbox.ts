import type { RvmError } from '../error';
import type { RvmEvent } from '../event';
import type { FileIncident, Incident } from './incident';
import type { InboxCounts, InboxFigures } from './inbox-figures';
import type { DeadLetter, DeadLetterReason, ProvenMessage } from '../message/record';
import type { MessageState } from './message-state';
import type { Actor, PersonVerdict, HistoryEntry, Verdict } from './history';
import type { QuarantinedMessage, QuarantineSum } from './quarantined';
import type { Slots } from './slot';
import type { ListedState, TallyQuery, TallyRow } from './tally-rows';

export type { MessageState } from './message-state';
export type { QuarantinedMessage, QuarantineSum } from './quarantined';
export type { ChangedSlots, Slot, SlotOutcome, Slots, SlotWrite } from './slot';

/** What became of a message handed to the inbox. */
export interface Acceptance {
  /**
   * `repeat`: known with this content. `conflict`: its id is known with other content; both are kept. While the store fails, as
   * far as what it knows can be read.
   */
  outcome: 'new' | 'repeat' | 'conflict';
  /** Stable id of the record: of the first copy for a repeat, of the message itself otherwise. */
  deliveryId: string;
}

/** An event on its way to its consumer. */
export interface Delivery {
  /** The same over all deliveries of this event. */
  deliveryId: string;
  /** Grows from event to event, with gaps. Null while the event is in no inbox, but beside one that fails. */
  sequence: number | null;
  /** Counts from 1. */
  attempt: number;
  /**
   * Why it comes again: `lease` or `restart`, where the flow may have acted on it before; `retry`, where the flow asked for it.
   * Absent for a first delivery.
   */
  again?: 'lease' | 'restart' | 'retry';
  /** True for the first event of its alarm; null where what came before cannot be read. */
  first: boolean | null;
  /** True where an end of this alarm was accepted before this event; null where that cannot be read. */
  ended: boolean | null;
  message: ProvenMessage;
}

/** When an event of a consumer counts as handled, and what happens until then. */
export interface DeliveryTerms {
  /**
   * `sent`: a moment after `deliver` has returned. `settled`: when `settle` says so; until then the event is leased, and comes
   * again when the lease ends.
   */
  handledWhen: 'sent' | 'settled';
  /** Length of a lease, in milliseconds. */
  redeliverAfter: number;
  /** Deliveries before an event is a dead letter; those cut off by a restart do not count. */
  maxAttempts: number;
  /** Events delivered and not settled at a time. */
  maxInFlight: number;
}

/** The one taker of the events of an endpoint. None of its functions may throw. */
export interface Consumer extends DeliveryTerms {
  endpointId: string;
  /** Id of the webhook node that has the endpoint: where it had another one before, what is left there comes along. */
  nodeId: string;
  /** Hands an event to the flow. False where nothing waits for it there: it counts as handled. */
  deliver(delivery: Delivery): boolean;
  /** Told of an event that became a dead letter. `note` is what the flow gave as the reason of a rejection. */
  onDead(delivery: Delivery, reason: 'attempts' | 'rejected', note?: string): void;
  /** Told, once until none wait any more, that the window of unsettled events is full while `waiting` others wait. */
  onBlocked(waiting: number): void;
  /**
   * Told when the first message is kept beside an inbox that fails, and when all that the inbox would have are in it, `count`
   * of this endpoint: then it `isOver`. While it is paused, it is told later.
   */
  onSpilled(spell: { count: number; isOver: boolean }): void;
  /** Told, each node once, what befell the inbox within the last day. While it is paused, it is told later. */
  onIncident(incident: Incident): void;
}

/** The hold of a consumer on its endpoint. */
export interface Consumption {
  /** Nothing is delivered from now on; leases of settled events go on. What may not have left comes again. */
  pause(): void;
  resume(): void;
  /**
   * Gives all unsettled events back: the next consumer gets them again. Resolves when that is durable, or failed.
   * @param isForGood the webhook node is deleted or disabled: its endpoint is nobody's until a node has it
   */
  end(isForGood?: boolean): Promise<void>;
}

/** What a flow says of an event. */
export type Settlement = (
  | { action: 'done' }
  /** Delivered again after a pause. */
  | { action: 'retry' }
  /** Becomes a dead letter. */
  | { action: 'reject'; note?: string }
  /** The lease begins anew. */
  | { action: 'extend' }
) & {
  /** What a person has found, if anything; kept also of an event that is settled already. */
  finding?: PersonVerdict;
};

export interface ListQuery {
  state: ListedState;
  /** Received at or after this time, and before that one, in milliseconds since 1970. */
  since?: number;
  until?: number;
  /** Of one alarm alone; then of any state. */
  alarm?: { station: string; alarmId: string };
  /** This message alone; then of any state. */
  deliveryId?: string;
  /** Each with its history. */
  history?: true;
  limit: number;
}

/** Why a message is a dead letter: of no use, given up, or `unreadable`, where a damaged disk has its body no more. */
export type DeadReason = DeadLetterReason | 'attempts' | 'rejected' | 'unreadable';

/** A message of the inbox as a list shows it. */
export interface ListedMessage {
  receivedTime: string;
  station: string;
  state: MessageState;
  attempts: number;
  messageId: string | null;
  deliveryId: string;
  /** To which it belongs. */
  endpointId: string;
  /** Empty where the body cannot be read, or is kept no more. */
  event: RvmEvent;
  /** True where a `retry` delivers it: it is dead for want of attempts, or filtered. */
  canRetry: boolean;
  /** Why it is a dead letter; absent of others, and where that is not known now. */
  reason?: DeadReason;
  /** Absent where it was not kept, or of a dead letter. */
  proof?: ProvenMessage['proof'];
  /** What a person has found last. */
  verdict?: Verdict;
  /** What has become of it, oldest first; where it was asked for. */
  history?: HistoryEntry[];
}

/** Messages of an inbox, newest first. */
export interface MessageList {
  messages: ListedMessage[];
  /** `STORE_FAILED`: why what the inbox holds is missing; absent where all are there. */
  fault?: RvmError;
}

/** An instance of Node-RED that shares an inbox. */
export interface InstanceRow {
  /** Of one life of its process, unlike its name: the fencing token of its leases. */
  epoch: string;
  /** For people. */
  name: string;
  /** Milliseconds since its last beat, by the clock of the database. */
  sinceBeat: number;
  /** Events that it has leased. */
  held: number;
  /** True for the one that asks. */
  isSelf: boolean;
}

/** How an inbox fares. */
export interface InboxState {
  /**
   * False while it cannot store: open again is tried every few seconds; or while the disk fails to give an event that is
   * stored. Undefined until it was first opened.
   */
  durable: boolean | undefined;
  /** Why not, in one sentence for the operator. */
  fault?: string;
  /** What befell its file last, within a day, and how many milliseconds ago; absent where nothing did. */
  incident?: { is: FileIncident; ago: number };
  /** Messages that are kept beside it, for it could not take them; absent where there are none. */
  spilled?: number;
}

/**
 * The store every authentic message enters before it is acknowledged. The key of a message is (station key, `messageId`): never
 * the id alone, or one station could swallow the alarm of another. Written so that a store that several processes share can
 * stand behind it.
 */
export interface Inbox extends Slots {
  /**
   * Resolves when the message is on the disk. A `repeat` is one whose id and content are known, in whatever state; so calling
   * it again with the same message is safe.
   * @throws RvmError `STORE_FAILED` where it cannot be kept; then it must not be acknowledged.
   */
  accept(record: ProvenMessage | DeadLetter): Promise<Acceptance>;

  /**
   * Registers the one consumer of an endpoint, paused; a later one replaces it. Security events come before those of class
   * `health`, each in order of acceptance. What arrives while there is no consumer waits for it.
   */
  consume(consumer: Consumer): Consumption;

  /**
   * Resolves when the settlement is durable: false where this inbox does not know the id. Of an event that is settled already,
   * or is filtered, nothing changes but its verdict; a filtered one is delivered by `retry`. A dead letter that nobody settled,
   * for want of attempts, is not: `retry` delivers it again, `done` and `reject` settle it.
   * @param actor who says so
   * @throws RvmError `STORE_FAILED`
   */
  settle(deliveryId: string, settlement: Settlement, actor?: Actor): Promise<boolean>;

  /**
   * A dead letter, a conflict or a stale message is not listed as `dead` any more; it is kept as long as others are. False
   * where the inbox knows no such message. @throws RvmError `STORE_FAILED`
   */
  dismiss(deliveryId: string, actor?: Actor): Promise<boolean>;

  /** What is kept beside an inbox that fails is among them, and all that there is of one that cannot be read; `fault` says so. */
  list(query: ListQuery): Promise<MessageList>;

  /** Counts what is in the inbox; what is kept beside one that fails is counted once it has entered. @throws RvmError `STORE_FAILED` */
  tally(query: TallyQuery): Promise<TallyRow[]>;

  /** Keeps a message that nothing proved, within bounds; nothing else waits for it. */
  quarantine(message: QuarantinedMessage): void;

  /**
   * The quarantined messages of an endpoint, oldest first, each with its id.
   * @throws RvmError `STORE_FAILED`
   */
  quarantined(endpointId: string): Promise<(QuarantinedMessage & { id: number })[]>;

  /** Of each endpoint that has any. @throws RvmError `STORE_FAILED` */
  quarantineSums(): Promise<QuarantineSum[]>;

  /** Lets quarantined messages go. @throws RvmError `STORE_FAILED` */
  release(ids: readonly number[]): Promise<void>;

  /** Lets those of an endpoint go, as far as the one with this id. @throws RvmError `STORE_FAILED` */
  releaseUpTo(endpointId: string, lastId: number): Promise<void>;

  /** Key for `tokenDigest`; it stays in the inbox. @throws RvmError `STORE_FAILED` */
  quarantineKey(): Promise<Uint8Array>;

  /** Signs the addresses of views; it stays in the inbox, 32 bytes. @throws RvmError `STORE_FAILED` */
  viewKey(): Promise<Uint8Array>;

  /** Events of an endpoint that wait for their first delivery. */
  waiting(endpointId: string): number;

  /** The same of all endpoints. */
  allWaiting(): number;

  /** By endpoint: events that are open, of whichever instance; also of endpoints that no webhook node has. @throws RvmError `STORE_FAILED` */
  openByEndpoint(): Promise<Record<string, number>>;

  /** How it stands: of an endpoint at which nothing waits as far as is known here, it does not ask. @throws RvmError STORE_FAILED */
  figures(): Promise<InboxFigures>;

  /** How many messages there are, for a person to see: at a cost that does not grow with the inbox. @throws RvmError `STORE_FAILED` */
  counts(): Promise<InboxCounts>;

  /**
   * Gives open events and dead letters of an endpoint that no webhook node has to another one.
   * @returns how many events wait there then. @throws RvmError `STORE_FAILED`
   */
  assign(from: string, to: string, actor?: Actor): Promise<number>;

  /** Whether a message of this id was accepted from a station, by whichever instance. @throws RvmError `STORE_FAILED` */
  isKnown(station: string, messageId: string): Promise<boolean>;

  /** The instances of Node-RED that share the inbox, oldest first; none where it belongs to one alone. @throws RvmError `STORE_FAILED` */
  instances(): Promise<InstanceRow[]>;

  /** Endpoints at which events wait, and whose events are not delivered from here. */
  abandoned(): string[];

  /** True where the events of an endpoint are delivered from here. */
  hasConsumer(endpointId: string): boolean;

  /** Milliseconds that the flow has for an event from now, each time it asks for more; undefined where it has not to settle it. */
  leaseOf(deliveryId: string): number | undefined;

  state(): InboxState;

  /** Resolves with whether a message that comes now would be durable in time: in the store, or beside it while it fails. */
  wouldKeep(): Promise<boolean>;

  /** Calls back when `state` or `waiting` has changed. Returns the way to end that. */
  watch(changed: () => void): () => void;

  /** Ends deliveries. What is durable stays; messages are no longer accepted. */
  close(): Promise<void>;
}
