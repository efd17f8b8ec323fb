/** By what events are put together. */
export const GROUPINGS = ['site', 'camera', 'rule', 'station', 'all'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Most events that one alarm may be made to wait for: each is kept. */
export const MOST_COUNTED = 100;
/** Seconds: a level that nobody wants to see down again is none. */
export const LONGEST_HOLD = 7 * 24 * 60 * 60;
/** Minutes that a group may be on test: whoever needs more, disarms it. */
export const LONGEST_TEST = 7 * 24 * 60;

/** How events become a level. */
export interface AlarmSettings {
  group: Grouping;
  /** Milliseconds that a raised state lasts after the last event that raises or extends it. */
  hold: number;
  /** Seconds: events that are older are held back. */
  ignoreOlder: number;
  /** So many events within so many milliseconds raise it. */
  count: number;
  within: number;
  /** Empty: all but health. */
  classes: readonly string[];
  /** Whether events of the sandbox count. */
  sandbox: boolean;
  /** Milliseconds between two times that a raised state is said; 0: only once. */
  repeat: number;
}
