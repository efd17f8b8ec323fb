import type { ProvenMessage } from '../message/record';
import { beginOf } from '../text';

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
