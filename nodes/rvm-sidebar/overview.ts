import type { NodeStatus } from 'node-red';
import type { EventRow } from '../../lib/inbox/store/stored-message';
import type { HistoryEntry, InstanceRow, MessageState, QuarantineSum } from '../../lib/inbox/model';
import type { UnknownPath } from '../../lib/webhook/unknown-paths';
import type { ProblemTally } from '../../lib/webhook/unseen-problems';
import type { PictureKind } from '../support/recent-video';
import type { Words } from '../support/status-words';

/** An event as the sidebar shows it. */
export interface SidebarRow extends EventRow {
  /** How the message was proven; absent where that was not stored. */
  proof?: 'hmac' | 'token';
  /** The last verdict of a person; absent where there is none. */
  verdict?: 'real' | 'false';
  /** True where the event can be delivered again. */
  canRetry: boolean;
  /** Text key: why the event is a dead letter, and what to do; absent where unknown. */
  why?: string;
  /** Content of the picture taken shortly after the alarm: the alarm, or the camera afterwards; null where there is none. */
  picture: PictureKind | null;
  /** True where the event names a camera of a deployed Central Station. */
  hasVideo: boolean;
}

/** Unproven messages of one inbox at one *webhook in*, as the sidebar shows them. */
export interface QuarantineRow extends QuarantineSum {
  /** Id of the inbox in requests; ids of messages are unique only within it. */
  inbox: string;
  /** Title of the inbox; null where there is only one. */
  inboxTitle: string | null;
  /** Path on which the messages arrived; a node id while nodes exchange their paths. */
  path: string;
  /** Title of the *webhook in* with this path; null where there is none. */
  title: string | null;
  /** True where that *webhook in* can judge them again, which requires that it uses this inbox. */
  canVerify: boolean;
}

/** A *webhook in* to which events can be assigned. */
export interface Taker {
  endpointId: string;
  path: string;
  /** Title for users. */
  title: string;
}

/** Events at a path that no *webhook in* of this Node-RED has. */
export interface AbandonedRow {
  /** Id of the inbox in requests. */
  inbox: string;
  /** Title of the inbox; null where there is only one. */
  inboxTitle: string | null;
  endpointId: string;
  /** A node id while nodes exchange their paths. */
  path: string;
  /** Port of the listener; '' = Node-RED's own server. */
  port: string;
  count: number;
  /** Nodes that use this inbox. */
  takers: Taker[];
}

/** A problem of a *webhook in* that is not cured yet. */
export interface ProblemRow extends ProblemTally {
  /** Id of the node: several nodes may have the same title. */
  webhook: string;
  /** Title of the *webhook in*. */
  title: string;
  /** Text key: what happened, and what to do. */
  text: string;
}

/** A Central Station as the sidebar shows it. */
export interface StationRow {
  /** Id of its config node. */
  id: string;
  key: string;
  name: string;
  isSandbox: boolean;
  status: NodeStatus;
  /** Text key and values of the status, for the language of the editor; null where the status is empty. */
  words: Words | null;
  /** Time of receipt of its newest event: ISO 8601, UTC, with `Z`; null where it has none. */
  last: string | null;
}

/** Node-RED instances that share an inbox, oldest first. */
export interface SharingRow {
  /** Title of the inbox. */
  inbox: string;
  instances: InstanceRow[];
}

/** A site of the sandbox that waits to be accepted. */
export interface PendingRow {
  /** Id of the config node that owns the sandbox. */
  cloud: string;
  /** Id of the customer, used to accept the site. */
  customer: string;
  /** Name of the customer. */
  name: string;
  /** Name of the site. */
  site: string;
}

/** Numbers of messages in all inboxes that can be read. */
export interface Totals {
  /** Among the newest 10,000 messages of each inbox, and those kept beside one that cannot store. */
  events: number;
  /** True where there are others: older ones, or those of an inbox that cannot be read. */
  isCut: boolean;
  /** Those of the inboxes by state. */
  byState: Partial<Record<MessageState, number>>;
  /**
   * Among all messages: dead letters, conflicts and messages that came too late; `exhausted` counts those that can be delivered
   * again.
   */
  dead: number;
  exhausted: number;
}

/** Topic on which the runtime tells the editors that the overview has changed; what, they ask for. */
export const NEWS_TOPIC = 'rvm-sidebar/news';

/** Milliseconds after which a sidebar that is looked at asks all the same: its connection may be lost. */
export const LONGEST_PAUSE = 10_000;

/** Data of the sidebar, newest first: the newest events and dead letters, as far as they match the search. */
export interface Overview {
  totals: Totals;
  /** Time of the oldest event and dead letter that was read; null where there are no others. */
  from: { events: string | null; dead: string | null };
  events: SidebarRow[];
  /**
   * Messages that no flow receives any more, also older than `events`: dead letters, conflicts, and messages that came too
   * late.
   */
  dead: SidebarRow[];
  quarantine: QuarantineRow[];
  abandoned: AbandonedRow[];
  /** Refused messages of each *webhook in* for reasons that the quarantine does not show. */
  refused: ProblemRow[];
  /** Problems that no flow received. */
  problems: ProblemRow[];
  /** Messages posted to paths that no *webhook in* has. */
  unknownPaths: UnknownPath[];
  /** Number of the newest problem; the editor sends it back once the user has seen it. */
  lastProblem: number;
  /** True where there is a problem that no user has seen. */
  hasUnseen: boolean;
  stations: StationRow[];
  pending: PendingRow[];
  sharing: SharingRow[];
  /** Why an inbox cannot store or be read; null where all work. */
  fault: string | null;
  /** Text of an incident of an inbox file within the last day; null where there was none. */
  incident: string | null;
  /** True where a shared inbox fails: its alarms are left unanswered meanwhile, because it has no spill folder. */
  isCut: boolean;
  /** True where an inbox cannot be read: its messages are not among the events. */
  isPartial: boolean;
}

/** History of an event, oldest step first, with further facts. */
export interface EventHistory {
  history: HistoryEntry[];
  /** Ids of the camera in the event; null where the event has none. */
  camera: { id: string | null; remoteId: string | null };
  /** The *webhook in* that owns the event; null where there is none. */
  webhook: { title: string; path: string; maxAttempts: number | null } | null;
}

/** Result of a search for events, newest first. */
export interface FoundEvents {
  events: SidebarRow[];
  /** Number of matching events; null without search words. */
  matches: number | null;
  /** Number of matching events that can be delivered again; null without search words. */
  retryable: number | null;
  /** Number of events that were read. */
  looked: number;
  /** True where there are older ones. */
  isCut: boolean;
}

/** All dead letters that match the search. */
export interface DeadLetters {
  letters: { deliveryId: string; canRetry: boolean }[];
}

/** Result of an action on several dead letters. */
export interface ActedOn {
  done: number;
  failed: number;
}

/** Maximum of rows shown in one list; beyond it the user has to search. */
export const MOST_SHOWN = 1000;

/** Maximum of dead letters in one request. */
export const MOST_AT_ONCE = 50;

/** Actions on a dead letter: deliver it again, or remove it from the list. */
export const DEAD_ACTIONS = ['retry', 'discard'] as const;

/** Actions on a quarantine: judge it with the current phrases, or delete it. */
export const QUARANTINE_ACTIONS = ['verify', 'discard'] as const;

/** Picture of an event in base64; null where it is no longer cached. */
export interface Picture {
  jpeg: string | null;
}
