import type { NodeStatus } from 'node-red';
import type { EventRow } from '../../lib/inbox/event-row';

/** A Central Station as the sidebar shows it. */
export interface StationRow {
  key: string;
  name: string;
  isSandbox: boolean;
  status: NodeStatus;
}

/** What the sidebar shows, newest first. */
export interface Overview {
  events: EventRow[];
  /** Of those, and of older ones, what no flow gets any more. */
  dead: EventRow[];
  stations: StationRow[];
  /** False where an inbox cannot store, or could not be read. */
  isDurable: boolean;
}

/** What can be done with a dead letter: deliver it again, or let it go. */
export const DEAD_ACTIONS = ['retry', 'done'] as const;
export type DeadAction = (typeof DEAD_ACTIONS)[number];
