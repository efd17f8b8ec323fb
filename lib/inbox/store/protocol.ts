import type { Warning } from '../../message/envelope';
import type { Verdict } from '../history';
import type { InstanceRow, ListQuery, MessageState } from '../inbox';
import type { InboxCounts, InboxFigures } from '../inbox-figures';
import type { PageQuery } from './page-query';
import type { SlotRowOutcome, SlotRows, SlotRowWrite } from './slot-row';
import type { Course, NotedStep } from './step';

export type { OpenReport, SlowBatch, UnsafeSetting, StoreWarning } from './news';

/** A message on its way into the store: plain values only, for it goes to another thread. */
export interface NewMessage {
  station: string;
  /** The message id; where it has none, a digest of the content, and `named` is false. */
  id: string;
  named: boolean;
  fingerprint: string;
  endpoint: string;
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

/** What became of a message, in the inbox or beside it. */
export interface AcceptedAnywhere {
  outcome: 'new' | 'repeat' | 'conflict';
  deliveryId: string;
  /** Null beside the inbox. */
  sequence: number | null;
  /** Null where what is in the inbox cannot be read. */
  first: boolean | null;
  ended: boolean | null;
  /** True where it was leased at once, as was wished. */
  leased: boolean;
}

export interface Accepted extends AcceptedAnywhere {
  sequence: number;
  first: boolean;
  ended: boolean;
}

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

/** How far an event has come. */
export interface Progress {
  state: MessageState;
  /** Deliveries so far, and those of them that a restart cut off. */
  attempt: number;
  cutOff: number;
  /** True while the flow has it. */
  atFlow: boolean;
  /** As of a `LeasedMessage`. */
  again?: LeasedMessage['again'];
  /** What has become of it beside the inbox, its usual course too. */
  steps?: readonly NotedStep[];
}

/** A message that was kept beside the inbox, as it enters it. */
export interface Brought {
  message: NewMessage;
  deliveryId: string;
  progress: Progress;
  /** Of its row, where the store took it after all, too late. */
  lateId?: string;
  /** True where this process has brought it before, when it was with the flow, or dead: what the inbox has of it is of then. */
  wasBrought?: true;
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
  first: boolean;
  ended: boolean;
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
  /** Leased only where the last lease left none waiting; `ordered`: and where no other event of its alarm is open. */
  accept: { take: { message: NewMessage; lease: 'no' | 'any' | 'ordered' }; give: Accepted };
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
  page: { take: PageQuery; give: (StoredMessage & { alarm?: string })[] };
  /** Takes in what was kept beside the inbox; nothing where it has done so already. By how many more, or fewer, wait now. */
  bring: { take: Brought; give: number };
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
/** And one that several instances share: nothing is spilled then. */
export type SharedCall = Exclude<CallName, 'bring' | 'look'>;
/** And whichever it is. */
export type AnyCall = LocalCall & SharedCall;
