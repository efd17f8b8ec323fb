/** `open`: received and leased. `settled`: delivered. `dead`: dead, conflict and stale, unless dismissed. */
export type ListedState = 'open' | 'settled' | 'dead' | 'filtered' | 'all';

/** By what events are counted: the hour of their receipt in UTC, or what they say themselves. */
export const GROUPINGS = ['hour', 'site', 'camera', 'rule'] as const;

export interface TallyQuery {
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
