import type { NodeStatus } from 'node-red';
import type { EventRow } from '../../lib/inbox/event-row';
import type { HistoryEntry } from '../../lib/inbox/history';
import type { InstanceRow, MessageState, QuarantineSum } from '../../lib/inbox/inbox';
import type { UnknownPath } from '../../lib/webhook/unknown-paths';
import type { ProblemTally } from '../../lib/webhook/endpoint-health';
import type { PictureKind } from '../support/recent-video';
import type { Words } from '../support/status-words';

/** An event as the sidebar shows it. */
export interface SidebarRow extends EventRow {
  /** How it was proven; absent where that was not kept. */
  proof?: 'hmac' | 'token';
  /** What a person found last; absent where nobody has said. */
  verdict?: 'real' | 'false';
  /** True where it can be delivered again. */
  canRetry: boolean;
  /** Key of the sentence that says why it is a dead letter, and what to do; absent where that is not known. */
  why?: string;
  /** What the picture shows that was made for it a while ago: the alarm, or the camera after it; null where there is none. */
  picture: PictureKind | null;
  /** True where it names a camera of a Central Station that is deployed. */
  hasVideo: boolean;
}

/** What one inbox holds of what nothing has proved at a *webhook in*, as the sidebar shows it. */
export interface QuarantineRow extends QuarantineSum {
  /** Names the inbox in what is asked for; ids of messages count in it alone. */
  inbox: string;
  /** By which people know that inbox; null where there is no other. */
  inboxTitle: string | null;
  /** At which they came; a node id where they wait while nodes exchange their paths. */
  path: string;
  /** By which people know the *webhook in* that has it; null where none has. */
  title: string | null;
  /** True where its *webhook in* can look at them: it uses this inbox. */
  canVerify: boolean;
}

/** A *webhook in* that can be given events. */
export interface Taker {
  endpointId: string;
  path: string;
  /** By which people know it. */
  title: string;
}

/** Events that wait at a path that no *webhook in* of this Node-RED has. */
export interface AbandonedRow {
  /** Names the inbox in what is asked for. */
  inbox: string;
  /** By which people know it; null where there is no other inbox. */
  inboxTitle: string | null;
  endpointId: string;
  /** A node id where they wait while nodes exchange their paths. */
  path: string;
  /** That of the listener; '' = the one of Node-RED itself. */
  port: string;
  count: number;
  /** Those that use this inbox. */
  takers: Taker[];
}

/** What went wrong at a *webhook in*, and nothing has cured since. */
export interface ProblemRow extends ProblemTally {
  /** Id of the node: several may have one title. */
  webhook: string;
  /** By which people know the *webhook in*. */
  title: string;
  /** Key of the sentence that says what happened and what to do. */
  text: string;
}

/** A Central Station as the sidebar shows it. */
export interface StationRow {
  /** Of its config node. */
  id: string;
  key: string;
  name: string;
  isSandbox: boolean;
  status: NodeStatus;
  /** What that says, for the editor to say it in its language; null where it says nothing. */
  words: Words | null;
  /** When its newest event was received: ISO 8601, UTC, with `Z`; null where it has none. */
  last: string | null;
}

/** The instances of Node-RED that share an inbox, oldest first. */
export interface SharingRow {
  /** By which people know the inbox. */
  inbox: string;
  instances: InstanceRow[];
}

/** A site of the sandbox that waits to be accepted, as the sidebar shows it. */
export interface PendingRow {
  /** Id of the config node whose sandbox it is. */
  cloud: string;
  /** Id of the customer, by which a site is accepted. */
  customer: string;
  /** Of the customer. */
  name: string;
  /** Its name. */
  site: string;
}

/** How many messages the inboxes have, as far as they can be read. */
export interface Totals {
  /** Of the newest 10,000 messages of each inbox. */
  events: number;
  /** True where there are older ones. */
  isCut: boolean;
  /** The same by their state. */
  byState: Partial<Record<MessageState, number>>;
  /** Of all: dead letters, conflicts and what came too late; and how many of these can be delivered again. */
  dead: number;
  exhausted: number;
}

/** What the sidebar shows, newest first: of events and dead letters the newest, as far as they match what is looked for. */
export interface Overview {
  totals: Totals;
  /** The oldest of the events and dead letters that were looked at; null where there are no others. */
  from: { events: string | null; dead: string | null };
  events: SidebarRow[];
  /** Of those, and of older ones, what no flow gets any more: dead letters, conflicts, and what came too late. */
  dead: SidebarRow[];
  quarantine: QuarantineRow[];
  abandoned: AbandonedRow[];
  /** Refused messages of each *webhook in* of whose reason the quarantine does not tell. */
  refused: ProblemRow[];
  /** Problems that no flow took. */
  problems: ProblemRow[];
  /** What was posted to paths that no *webhook in* has. */
  unknownPaths: UnknownPath[];
  /** Number of the newest problem; to be sent back once a person has seen this. */
  lastProblem: number;
  /** True where there is a problem that nobody has seen. */
  hasUnseen: boolean;
  stations: StationRow[];
  pending: PendingRow[];
  sharing: SharingRow[];
  /** Why an inbox cannot store, or be read; null where all can. */
  fault: string | null;
  /** What befell the file of an inbox within the last day; null where nothing did. */
  incident: string | null;
  /** True where alarms for an inbox that fails are left unanswered meanwhile, for nothing is kept beside one that is shared. */
  isCut: boolean;
  /** True where an inbox cannot be read: what it holds is not among the events. */
  isPartial: boolean;
}

/** What became of an event, oldest first, and what else is known of it. */
export interface EventHistory {
  history: HistoryEntry[];
  /** As the event names its camera; null what it does not say. */
  camera: { id: string | null; remoteId: string | null };
  /** The *webhook in* that has it; null where none has. */
  webhook: { title: string; path: string; maxAttempts: number | null } | null;
}

/** Events that were looked for, newest first. */
export interface FoundEvents {
  events: SidebarRow[];
  /** How many match; null where no words were looked for. */
  matches: number | null;
  /** How many of them can be delivered again; null in the same case. */
  retryable: number | null;
  /** How many were looked at. */
  looked: number;
  /** True where there are older ones. */
  isCut: boolean;
}

/** All dead letters that match. */
export interface DeadLetters {
  letters: { deliveryId: string; canRetry: boolean }[];
}

/** What became of what was asked for several dead letters. */
export interface ActedOn {
  done: number;
  failed: number;
}

/** Rows of one list that are shown: beyond them the filter finds what is wanted. */
export const MOST_SHOWN = 1000;

/** Dead letters that may be named in one request. */
export const MOST_AT_ONCE = 50;

/** What can be done with a dead letter: deliver it again, or take it off the list. */
export const DEAD_ACTIONS = ['retry', 'discard'] as const;

/** What can be done with a quarantine: judge it with the current phrases, or let it go. */
export const QUARANTINE_ACTIONS = ['verify', 'discard'] as const;

/** The picture of an event, in base64; null where there is none any more. */
export interface Picture {
  jpeg: string | null;
}
