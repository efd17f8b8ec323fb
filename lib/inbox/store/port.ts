import { RvmError } from '../../error';
import type { CarriedRecord } from './carried-record';
import type { Warning } from '../../message/envelope';
import {
  cutText,
  type FileIncident,
  type HistoryStep,
  type InboxCounts,
  type InboxFigures,
  type InstanceRow,
  type ListedState,
  type PlaceQuery,
  type ListQuery,
  type LostTime,
  type MessageState,
  MOST_OF_NAME,
  MOST_OF_NOTE,
  type PersonVerdict,
  type Verdict,
} from '../model';
import type { ChangedSlots, Slot, SlotOutcome, SlotWrite } from '../slot';

/** A message on its way into the store: plain values only, for it goes to another thread. */
export interface NewMessage {
  station: string;
  /** The message id; where it has none, a digest of the content, and `named` is false. */
  id: string;
  named: boolean;
  fingerprint: string;
  endpoint: string;
  /** Of a message beside the inbox: the webhook node that has its endpoint; the endpoint, where that has no node. */
  node?: string;
  /** What becomes of it where its id is new. */
  state: 'received' | 'filtered' | 'other' | 'dead' | 'stale';
  /** 0 security and unknown classes, 1 health. */
  rank: 0 | 1;
  /** Absent where the event names none, and of what is no event. */
  alarm?: string;
  isEnd: boolean;
  /** Milliseconds since 1970. */
  received: number;
  /** JSON of what else is needed to deliver it. */
  facts: string;
  bytes: Uint8Array;
}

/** What became of a message. */
export interface Accepted {
  outcome: 'new' | 'repeat' | 'conflict';
  deliveryId: string;
  sequence: number;
  /** Null where what is in the inbox cannot be read. */
  first: boolean | null;
  ended: boolean | null;
  /** True where it was leased at once, as was wished. */
  leased: boolean;
}

/** The same, in the inbox or beside it, where no sequence is known. */
export type AcceptedAnywhere = Omit<Accepted, 'sequence'> & { sequence: number | null };

/** What of a message tells whether it is known. */
export type MessageKey = Pick<NewMessage, 'station' | 'id' | 'named' | 'fingerprint' | 'alarm'>;

/** What the inbox knows of a message and its alarm before the message. */
export interface Known {
  outcome: Accepted['outcome'];
  /** Of the copy that a repeat has there. */
  deliveryId?: string;
  first: boolean;
  ended: boolean;
}

/** A message that was kept beside the inbox, as it enters it. */
export interface Brought {
  record: CarriedRecord;
  /** Of its row, where the store took it after all, too late. */
  lateId?: string;
  /** True where this process has brought it before, when it was with the flow, or dead: what the inbox has of it is of then. */
  wasBrought?: true;
}

/** What is in a spare. */
export interface KeptMessage extends MessageKey {
  deliveryId: string;
  endpoint: string;
  state: MessageState;
  attempt: number;
  /** Bytes of its body. */
  size: number;
  node: string;
}

/** A message of a spare, on its way into the inbox. */
export interface SpareRecord extends CarriedRecord {
  node: string | null;
}

/** A message as it goes to the flow. */
export interface LeasedMessage {
  /** Null beside the inbox. */
  sequence: number | null;
  deliveryId: string;
  station: string;
  id: string;
  named: boolean;
  fingerprint: string;
  endpoint: string;
  state: MessageState;
  /** As of a `NewMessage`. */
  rank: NewMessage['rank'];
  attempt: number;
  /** Why it comes again; or why no more. */
  again: 'lease' | 'restart' | 'retry' | 'attempts' | 'dismissed' | undefined;
  /** Null where what is in the inbox cannot be read. */
  first: boolean | null;
  ended: boolean | null;
  /** What is odd about where it is kept. */
  warnings?: readonly Warning[];
  received: number;
  /** Absent where it is kept no more, or cannot be read. */
  facts?: string;
  bytes?: Uint8Array;
  /** True where the disk failed to give them just now, and may give them later. */
  isUnread?: true;
  /** True where they were looked for, and one of them is gone. */
  isIncomplete?: true;
  course?: Course;
  /** The last that a person has given, and when, in milliseconds since 1970. */
  verdict?: { verdict: Verdict; time: number };
  /** What has become of it beyond its usual course, oldest first; where it was asked for. */
  steps?: readonly NotedStep[];
}

/** A message as it is stored. */
export interface StoredMessage extends LeasedMessage {
  sequence: number;
  /** In a list or a page, of an event that has an alarm: a short name of that, unlike any of another one or station: its id may be long. */
  alarm?: string;
}

/** What of the leased events of a consumer goes back to those that wait. */
export interface ReturnedLeases {
  /** Not handed to the flow: as if never leased. */
  unsent: string[];
  /** The flow may have had them: their next delivery is a further attempt, which does not count. */
  cutOff: string[];
}

export interface Finish {
  deliveryId: string;
  state: 'delivered' | 'dead';
  /** Returns the message, too. */
  give: boolean;
  /** Noted where it ends now; by default as `endStep`. */
  step?: NotedStep;
}

/** Of one event, by whom. */
export interface ActOn {
  deliveryId: string;
  by?: string;
}

export interface Quarantined {
  endpoint: string;
  address: string;
  facts: string;
  bytes: Uint8Array;
}

/** What is quarantined at an endpoint. */
export interface QuarantinedSum {
  endpoint: string;
  count: number;
  /** Of the newest. */
  id: number;
  facts: string;
}

/** What the flow of one instance wants of an event that another one holds. */
export type FlowLeaseRequest = 'retry' | 'extend';
/** What the holder of an event is to be told. */
export type LeaseRequest = 'settled' | FlowLeaseRequest;

/** What is asked of a store. Those of one batch are one transaction. */
export interface StoreCalls {
  /**
   * Leased only where none waits before it; `ordered`: and where no other event of its alarm is open. `known`: to a spare, what
   * the inbox says of what came before; absent where it cannot be read.
   */
  accept: {
    take: { message: NewMessage; lease: 'no' | 'any' | 'ordered'; known?: Known };
    give: Accepted;
  };
  /**
   * Leases the next events that wait. `ordered`: of each alarm only the first, and while none of it is leased; nor of an alarm
   * in `except`, as `alarmOf` names them, which has one beside the inbox. `health`: at most so many of class health.
   */
  lease: {
    take: { endpoint: string; limit: number; health: number; ordered: boolean; except?: readonly string[] };
    give: LeasedMessage[];
  };
  /** How many wait again; the others were settled meanwhile. */
  giveBack: { take: ReturnedLeases; give: number };
  /** Ids of the events of an endpoint that are leased. */
  leased: { take: string; give: string[] };
  /** A lease has ended without settlement. Undefined where the event is settled. */
  lapse: {
    take: ActOn & { again: 'lease' | 'retry'; maxAttempts: number };
    give: { dead: boolean; counted: number } | undefined;
  };
  /** The next attempt of an event whose lease had ended. Undefined where it is settled. */
  again: { take: string; give: number | undefined };
  markDelivered: { take: string[]; give: void };
  /** Ends an event for good, also one that is a dead letter for want of attempts. Undefined where the id is unknown; `was` is its state until now. */
  finish: {
    take: Finish;
    give: { was: MessageState; endpoint: string; message?: LeasedMessage } | undefined;
  };
  /** A dead letter for want of attempts waits again, with all its attempts. Its endpoint; undefined for any other. */
  revive: { take: ActOn; give: string | undefined };
  /** A dead letter, a conflict or a stale message is listed as dead no more. False where it is none of them. */
  dismiss: { take: ActOn; give: boolean };
  /**
   * Notes a step of an event, with its verdict; once, however often it is asked. `ifOpen`: only of one that is open. Its state;
   * undefined where the id is unknown.
   */
  note: { take: { deliveryId: string; step: NotedStep; ifOpen?: boolean }; give: MessageState | undefined };
  stateOf: { take: string; give: MessageState | undefined };
  list: { take: ListQuery; give: StoredMessage[] };
  /** The next messages of a period, oldest first. */
  page: { take: PageQuery; give: StoredMessage[] };
  /** Takes in what was kept beside the inbox; nothing where it has done so already. By how many more, or fewer, wait now. */
  bring: { take: Brought; give: number };
  /** Of a spare: all that is in it, oldest first, without the bodies. */
  kept: { take: undefined; give: KeptMessage[] };
  /** Of a spare: the records behind a sequence, oldest first. */
  carry: { take: { after: number; limit: number }; give: SpareRecord[] };
  /** Of a spare: these are in the inbox. */
  gone: { take: string[]; give: void };
  /** Of a spare: what it has of a node is at this endpoint now. */
  moveNode: { take: { node: string; endpoint: string }; give: void };
  /** Of a spare: what it has at an endpoint is of this node now, and at its endpoint. */
  giveNode: { take: { from: string; node: string; endpoint: string }; give: void };
  /** These may have come to the flow before, or come to it from elsewhere, too, and say so. */
  doubt: { take: string[]; give: void };
  /** By endpoint: how many wait. */
  waiting: { take: undefined; give: Record<string, number> };
  /** Alarms of an endpoint, as `alarmOf` names them, of which an event is open. */
  openAlarms: { take: string; give: string[] };
  /** Whether a message is known; read only, so that a full disk can answer. */
  look: { take: MessageKey; give: Known };
  quarantine: { take: Quarantined; give: void };
  quarantined: { take: string; give: (Quarantined & { id: number })[] };
  quarantinedSums: { take: undefined; give: QuarantinedSum[] };
  release: { take: number[]; give: void };
  /** All of an endpoint as far as this id: not what nobody has seen yet. */
  releaseUpTo: { take: { endpoint: string; id: number }; give: void };
  quarantineKey: { take: undefined; give: Uint8Array };
  viewKey: { take: undefined; give: Uint8Array };
  /**
   * An endpoint has its webhook node: what this node had under another endpoint, which no node has any more, goes along (open
   * events, dead letters, what is quarantined). How many events wait at `endpoint` then.
   */
  claimEndpoint: { take: { endpoint: string; node: string }; give: number };
  /** A webhook node is deleted or disabled: its endpoint is its own no more, and what waits there waits for whoever has it next. */
  leaveEndpoint: { take: { node: string }; give: void };
  /** Endpoints that have open events, and by how many; for those that no webhook node has. */
  openByEndpoint: { take: undefined; give: Record<string, number> };
  /** How the inbox stands; of these endpoints. Reads alone. */
  figures: { take: string[]; give: InboxFigures };
  /** How many messages it has: the newest so many by state, and all dead letters. Reads alone. */
  counts: { take: { newest: number }; give: InboxCounts };
  /** Open events and dead letters of an endpoint go to another, and what is quarantined. How many events wait there then. */
  assign: { take: { from: string; to: string; by?: string }; give: number };
  /** Whether a message of this id was accepted, of whatever state, by whichever instance. */
  isKnown: { take: { station: string; id: string }; give: boolean };
  /** Tells the instance that holds an event what the flow of another one wants. False where no other instance holds it. */
  tellHolder: { take: { deliveryId: string; wish: FlowLeaseRequest }; give: boolean };
  /** The instances that share the inbox, oldest first. */
  instances: { take: undefined; give: InstanceRow[] };
  /** As the inbox gives them: `Slots`. */
  slots: { take: { owner: string; since: number }; give: SlotRows };
  putSlots: { take: { owner: string; writes: SlotRowWrite[] }; give: SlotRowOutcome[] };
  slotOwners: { take: string; give: string[] };
  dropSlots: { take: { owner: string }; give: void };
  /** Of each of these owners that ever had slots: the version of what has changed last. */
  slotVersions: { take: string[]; give: Record<string, number> };
  /** Removes what is old; true where there is more to remove. `keys`, `bodies`: ages in milliseconds. */
  tidy: { take: { keys: number; bodies: number }; give: boolean };
  /** Asks whether the store can write. */
  ping: { take: undefined; give: void };
}

export type CallName = keyof StoreCalls;
/** What a store is asked that belongs to one instance, beside which messages may be spilled. */
export type LocalCall = Exclude<CallName, 'tellHolder' | 'instances'>;
/** What a spare alone is asked, and what concerns one. */
type SpareCall =
  | 'bring'
  | 'look'
  | 'kept'
  | 'carry'
  | 'gone'
  | 'moveNode'
  | 'giveNode'
  | 'doubt'
  | 'waiting'
  | 'openAlarms';
/** And one that several instances share: nothing is spilled then. */
export type SharedCall = Exclude<CallName, SpareCall>;
/** And whichever it is. */
export type AnyCall = LocalCall & SharedCall;

/** A step of an event beyond its usual course, as a store notes it. */
export interface NotedStep {
  /** Wall clock, in milliseconds since 1970. */
  time: number;
  step: HistoryStep;
  by?: string;
  instance?: string;
  attempt?: number;
  reason?: string;
  note?: string;
  verdict?: Verdict;
}

/** And as it gives it: `place` is counted from 1 in each event. */
export interface StepRow extends NotedStep {
  place: number;
}

/** Steps that are kept of an event beyond its usual course, the newest. */
export const MOST_STEPS = 100;

/** What a store has in columns of its own of the usual course of an event. Wall clock, in milliseconds since 1970. */
export interface Course {
  /** Its first delivery. */
  delivered?: number;
  /** Name of the instance that had it, of several. */
  instance?: string;
  settled?: number;
  settledBy?: string;
}

/** What of a step stands as JSON. */
export type StepFacts = Pick<NotedStep, 'instance' | 'reason' | 'note' | 'verdict'>;

/** Null where there is nothing. */
export function stepFacts({ instance, reason, note, verdict }: NotedStep): string | null {
  const facts: StepFacts = {
    ...(instance !== undefined && { instance }),
    ...(reason !== undefined && reason !== '' && { reason: cutText(reason, MOST_OF_NOTE) }),
    ...(note !== undefined && { note: cutText(note, MOST_OF_NOTE) }),
    ...(verdict !== undefined && { verdict }),
  };
  return Object.keys(facts).length === 0 ? null : JSON.stringify(facts);
}

/** What a person has found, as a step; undefined where that is nothing. */
export function verdictStep(
  { verdict, note = '', by = '' }: PersonVerdict,
  time: number,
): NotedStep | undefined {
  if (verdict === undefined && note === '' && by === '') return undefined;
  return {
    time,
    step: 'verdict',
    ...(verdict !== undefined && { verdict }),
    ...(note !== '' && { note }),
    ...(by !== '' && { by: cutText(by, MOST_OF_NAME) }),
  };
}

/** The end of an event of which no more is known than what has become of it, and that it is now. */
export function endStep(state: 'delivered' | 'dead'): NotedStep {
  return { time: Date.now(), step: state === 'dead' ? 'rejected' : 'settled' };
}

/** As it is stored: its value as JSON; absent where it is removed. */
type AsJson<Of> = Omit<Of, 'value'> & { value?: string };
export type SlotRow = AsJson<Slot>;
/** Times in it are whole numbers. */
export type SlotRowWrite = AsJson<SlotWrite>;
export type SlotRowOutcome = Pick<SlotOutcome, 'written'> & { slot?: SlotRow };
export type SlotRows = Omit<ChangedSlots, 'slots'> & { slots: SlotRow[] };

/** How long it is known what was removed, in milliseconds, and of how many slots of an owner. */
export const REMOVED_FOR = 24 * 60 * 60 * 1000;
export const MOST_REMOVED = 10_000;

/** A page of the messages of a period, in the order of their receipt. */
export interface PageQuery extends PlaceQuery {
  state: ListedState;
  /** Received at or after this time, and before that one, in milliseconds since 1970. */
  since: number;
  until: number;
  /** The last of the page before. */
  after?: PlaceInTime;
  limit: number;
  /** With bodies, as far as there is room: what comes without is to be asked for with the next page. */
  bodies: boolean;
  /** With what has become of each beyond its usual course. */
  steps: boolean;
}

export interface PlaceInTime {
  received: number;
  sequence: number;
}

/** What is known of a store once it is open. */
export interface OpenReport {
  /** By endpoint: events that wait. */
  waiting: Record<string, number>;
  /** Where the file is not the one that was open here before: `older`, for a backup was put back; `anew`, for it was gone. */
  restored: false | 'older' | 'anew';
  /** Where it is not: when the newest message was received that is known here, and the newest that was known, where that was remembered. */
  lost?: LostTime;
  /** Milliseconds since ids were lost with a part of the file, by its clock; absent where none were. */
  idsLostSince?: number;
}

/** What a batch that took long spent its time on, in milliseconds: the work on the file, and the sync that makes it durable. */
export interface SlowBatch {
  work: number;
  sync: number;
}

/** Settings of a database with which it is less durable than an inbox should be. */
export type UnsafeSetting =
  /** Commits are not on its disk when they are answered; the inbox asks for that all the same. */
  | 'synchronous-commit-off'
  /** When data reaches the disk is left to the system: a loss of power can lose or damage all of it. */
  | 'fsync-off'
  /** A loss of power can damage what is written at that moment. */
  | 'full-page-writes-off'
  /** Several servers are named, and commits wait for none of the standbys: the death of the primary loses the latest of them. */
  | 'standby-not-waited-for';

/**
 * `epoch-lost`: others took this instance for dead, after `stood` milliseconds without a beat that was answered. `taken-over`:
 * an instance of this name is dead, and so many events that it had leased wait again.
 */
export type StoreWarning =
  | { kind: 'volatile' | 'network'; fileSystem: string }
  | { kind: 'disk-low'; freeBytes: number }
  | { kind: 'reserve-used' }
  | { kind: 'unsafe'; what: UnsafeSetting }
  | { kind: 'epoch-lost'; stood: number }
  | { kind: 'taken-over'; name: string; count: number }
  /** Whether its file is removed or renamed cannot be told here. */
  | { kind: 'unwatched' }
  | Exclude<FileIncident, LostTime & { kind: 'restored' | 'made-anew' }>;

/** True where it befell the file of a store. */
export function isFileIncident(warning: StoreWarning): warning is Extract<StoreWarning, FileIncident> {
  return warning.kind === 'moved' || warning.kind === 'found' || warning.kind === 'salvaged';
}

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
  isLeaseSafe(): boolean;
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
  /** `isLeaseSafe` is true again. */
  onLeaseSafe(): void;
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

/** One name for an alarm. */
export function alarmOf(station: string, alarm: string): string {
  return `${station}\n${alarm}`;
}

/** Unproven messages that are kept of one address, and of all: a flood of forgeries from one place leaves space for others. */
export const QUARANTINE_LIMITS = { ofAddress: 200, messages: 1000, bytes: 16 * 1024 * 1024 };
