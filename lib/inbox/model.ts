import type { RvmError } from '../error';
import type { RvmEvent } from '../event';
import type { DeadLetter, DeadLetterReason, ProvenMessage } from '../message/record';
import { beginOf } from '../text';
import type { Slots } from './slot';

/**
 * State of a message in the inbox. `leased`: with the flow, or waiting to go there again. `filtered`: its webhook node does not
 * take such events.
 */
export type MessageState =
  | 'received'
  | 'leased'
  | 'delivered'
  | 'dead'
  | 'conflict'
  | 'stale'
  | 'filtered'
  | 'other';

/** Names in the folder of an inbox that is a file: that of the file, and of what is spilled where nothing else is set. */
export const INBOX_FILE = 'inbox.sqlite';
export const SPILL_FOLDER = 'spill';

/** How an inbox is kept. */
export interface InboxSettings {
  /** '' = `spill` in the folder of the inbox. */
  spillFolder: string;
  /** How long ids are known at least, in days. */
  keyDays: number;
  /** How long events are kept, in days. */
  bodyDays: number;
}

export const DEFAULT_SETTINGS: InboxSettings = { spillFolder: '', keyDays: 7, bodyDays: 30 };

/** Ids must be known longer than resends last, which is a day. */
export const LEAST_KEY_DAYS = 2;

export function areSame(one: InboxSettings, other: InboxSettings): boolean {
  return (
    one.spillFolder === other.spillFolder && one.keyDays === other.keyDays && one.bodyDays === other.bodyDays
  );
}

// The dialog shares this file: it needs nothing of the server.

/** Longest name that PostgreSQL keeps whole, in bytes. */
export const LONGEST_NAME = 63;

const OF_SYSTEM = /^(pg_|information_schema$)/i;

/** True for what can be the name of a schema of our own. */
export function isSchemaName(name: string): boolean {
  const isName = name !== '' && !name.includes('\0') && new TextEncoder().encode(name).length <= LONGEST_NAME;
  return isName && !OF_SYSTEM.test(name);
}

// The sidebar shares this file: it needs nothing of the server.

/** Without a beat after which others may take an instance for dead, in milliseconds. */
export const PEER_TIMEOUT = 10_000;

/** What a person can find of an alarm. */
export const VERDICTS = ['real', 'false'] as const;
export type Verdict = (typeof VERDICTS)[number];

/**
 * What can become of an event. `lapsed`: not settled in time. `cut-off`: its Node-RED ended, or was deployed, meanwhile.
 * `assigned`: given to another path. `filtered`: its webhook node does not take it. `phrase`: nothing had proven it until a
 * phrase was corrected.
 */
export type HistoryStep =
  | 'received'
  | 'filtered'
  | 'delivered'
  | 'settled'
  | 'rejected'
  | 'retry'
  | 'extended'
  | 'lapsed'
  | 'cut-off'
  | 'dead'
  | 'discarded'
  | 'delivered-again'
  | 'assigned'
  | 'verdict'
  | 'phrase';

/** One step in the history of an event, with what is known of it. */
export interface HistoryEntry {
  /** ISO 8601, UTC, with `Z`. */
  time: string;
  step: HistoryStep;
  /** A node of the flow, by its name or else its id; a user of the editor; or who has found something. */
  by?: string;
  /** Which of several instances of Node-RED. */
  instance?: string;
  /** Address from which it came. */
  from?: string;
  proof?: ProvenMessage['proof'];
  secret?: ProvenMessage['secret'];
  /** Which delivery it was, counted from 1. */
  attempt?: number;
  /** Why it is a dead letter, or was rejected; by what it was filtered; to which endpoint it was given. */
  reason?: string;
  note?: string;
  verdict?: Verdict;
  /** So many steps before this one are kept no more. */
  omitted?: number;
}

/** Who acts: a node of the flow, or a user of the editor. Nothing of either where that is not known. */
export interface Actor {
  node?: { id: string; name: string };
  user?: string;
}

/** What a person has found. */
export interface PersonVerdict {
  verdict?: Verdict;
  note?: string;
  /** Who that is. */
  by?: string;
}

/** Characters that are kept of a note or of the reason of a rejection, and of who has acted. */
export const MOST_OF_NOTE = 2000;
export const MOST_OF_NAME = 200;

/** Of who acts, as it is noted: nothing where nobody is known. */
export function namedBy(actor: Actor = {}): { by?: string } {
  const by = nameOf(actor);
  return by === undefined ? {} : { by };
}

function nameOf({ node, user }: Actor): string | undefined {
  const name = node === undefined ? user : node.name.trim() || node.id;
  return name === undefined || name === '' ? undefined : cutText(name, MOST_OF_NAME);
}

/** A text within its bound; one that was cut ends with `…`. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${beginOf(text, most - 1)}…`;
}

/** What was salvaged of a file: so many open events, ids of others, and bodies of those. */
export interface Salvaged {
  open: number;
  ids: number;
  rest: number;
  /** Under which name the file is kept. */
  file: string;
}

/** Between these times messages came of which an inbox knows nothing, in milliseconds since 1970; absent what is not known. */
export interface LostTime {
  from?: number;
  to?: number;
}

/**
 * What befell the file of an inbox, of which a person has to know: alarms may be lost, or come twice.
 * - `moved`: file or log were removed or renamed while they were open, and are written anew;
 * - `found`: another file stood in its place, and what it alone had is taken in;
 * - `salvaged`: it was damaged, and a new one is made of what can be read of it;
 * - `restored`, `made-anew`: it is an older copy of the one that was here; or that was gone.
 *
 * `folder`: that of the file, where it is not that of the inbox, but a spare.
 */
export type FileIncident = { folder?: string } & (
  | { kind: 'moved'; what: 'file' | 'log' }
  | ({ kind: 'found' | 'salvaged' } & Salvaged)
  | ({ kind: 'restored' | 'made-anew' } & LostTime)
);

/** What consumers are told of the inbox as a whole. `refuses`: it takes nothing any more, in the file or beside it; until it `takes`. */
export type Incident = FileIncident | { kind: 'refuses'; reason: string } | { kind: 'takes' };

/** How an inbox stands, as its store says. */
export interface InboxFigures {
  /** By endpoint at which events wait for their first delivery: milliseconds since the oldest of them was accepted, whatever the wall clock says. */
  oldest: Record<string, number>;
  /** By Central Station that has any: what a list of dead letters would show. */
  dead: Record<string, number>;
  /**
   * Of a database: whether a commit waits for another server, and that one answers. `none`: what is acknowledged is on one
   * machine alone. `away`: nothing can be stored.
   */
  standby?: 'there' | 'none' | 'away';
}

/** Messages of which the states are counted: the newest. */
export const MOST_COUNTED = 10_000;

/** How many messages an inbox has, as its lists show them. */
export interface InboxCounts {
  /** Of the newest messages, `MOST_COUNTED` at most. */
  newest: StateCount[];
  /** Of all: what a list of dead letters would show; and how many of these can be delivered again. */
  dead: number;
  exhausted: number;
}

/** Messages of one Central Station that are in one state. */
export interface StateCount {
  station: string;
  state: MessageState;
  count: number;
  /** When the newest of them was received, in milliseconds since 1970. */
  last: number;
}

/** `open`: received and leased. `settled`: delivered. `dead`: dead, conflict and stale, unless dismissed. */
export type ListedState = 'open' | 'settled' | 'dead' | 'filtered' | 'all';

/** By what events are counted: the hour of their receipt in UTC, or what they say themselves. */
export const GROUPINGS = ['hour', 'site', 'camera', 'rule'] as const;

/** Events by what they are of: any of these, in any spelling, as the filters of a webhook node have them. Absent: of all. */
export interface PlaceQuery {
  sites?: readonly string[];
  cameras?: readonly string[];
}

export interface TallyQuery extends PlaceQuery {
  by: (typeof GROUPINGS)[number];
  /** Received at or after this time, and before that one, in milliseconds since 1970. */
  since?: number;
  until?: number;
  /** Of which events; default all. */
  state?: ListedState;
  /** Rows at most. */
  limit: number;
}

/** What there is of one group. Messages that are no events, self-tests among them, are in none. */
export interface TallyRow {
  /** Begin of the hour, ISO 8601, UTC, with `Z`; or the name. Null where an event says none, or is kept no more. */
  group: string | null;
  /** Also those of class `health`. */
  events: number;
  /** Different `alarmId`, without those of class `health`. */
  alarms: number;
  settled: number;
  /** Alarms by the last verdict of a person. */
  real: number;
  false: number;
  /** Dead letters, conflicts and stale messages. */
  dead: number;
  /** Events that their webhook node did not take; they are among `events`, and their alarms are not among `alarms`. */
  filtered: number;
  /** From receipt to settlement, the mean; null where none is settled. */
  secondsToSettle: number | null;
}

/** A message that nothing proved, kept for the day on which the phrase is corrected. Holds no token in clear. */
export interface QuarantinedMessage {
  endpointId: string;
  /** ISO 8601, UTC, with `Z`. */
  receivedTime: string;
  remoteAddress?: string;
  /** The values of all `Authorization` lines. */
  authorization: readonly string[];
  /** HMAC of the token under a key of this inbox; absent where there was none. */
  tokenDigest?: string;
  /** Why nothing proved it; absent where that was not kept. */
  reason?: string;
  /** The bytes as received, with any token blanked. */
  body: Uint8Array;
}

/** What is quarantined at an endpoint, and of whom the newest message came. */
export interface QuarantineSum {
  endpointId: string;
  count: number;
  lastId: number;
  /** ISO 8601, UTC, with `Z`. */
  lastTime: string;
  lastAddress?: string;
  lastReason?: string;
}

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
  onSpilled(outage: { count: number; isOver: boolean }): void;
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

export interface ListQuery extends PlaceQuery {
  state: ListedState;
  /** Received at or after this time, and before that one, in milliseconds since 1970. */
  since?: number;
  until?: number;
  /** Of one alarm alone; then of any state, and wherever it is. */
  alarm?: { station: string; alarmId: string };
  /** This message alone; then likewise. */
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
  canAccept(): Promise<boolean>;

  /** Calls back when `state` or `waiting` has changed. Returns the way to end that. */
  watch(changed: () => void): () => void;

  /** Ends deliveries. What is durable stays; messages are no longer accepted. */
  close(): Promise<void>;
}
