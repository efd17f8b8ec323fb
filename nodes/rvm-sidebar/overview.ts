import type { NodeStatus } from 'node-red';
import type { EventRow } from '../../lib/inbox/event-row';

/** An event as the sidebar shows it. */
export interface SidebarRow extends EventRow {
  /** How it was proven; absent where that was not kept. */
  proof?: 'hmac' | 'token';
}

/** A Central Station as the sidebar shows it. */
export interface StationRow {
  /** Of its config node. */
  id: string;
  key: string;
  name: string;
  isSandbox: boolean;
  status: NodeStatus;
}

/** What the sidebar shows, newest first. */
export interface Overview {
  events: SidebarRow[];
  /** Of those, and of older ones, what no flow gets any more. */
  dead: SidebarRow[];
  stations: StationRow[];
  /** False where an inbox cannot store, or could not be read. */
  isDurable: boolean;
}

/** What can be done with a dead letter: deliver it again, or let it go. */
export const DEAD_ACTIONS = ['retry', 'done'] as const;
export type DeadAction = (typeof DEAD_ACTIONS)[number];
