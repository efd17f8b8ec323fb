import type { MessageState } from './message-state';

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
