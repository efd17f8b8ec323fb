/** How one Central Station fares at the moment. */
export interface StationSnapshot {
  key: string;
  /** Undefined until it was first asked for something. */
  isConnected: boolean | undefined;
  /** True while nothing is sent but probes. */
  isCircuitOpen: boolean;
}

/** What one inbox holds at the moment. What it could not say in time is absent. */
export interface InboxSnapshot {
  engine: 'sqlite' | 'postgres';
  isDurable: boolean;
  /** Events that wait for their first delivery. */
  waiting: number;
  /** Messages kept beside it. */
  spilled: number;
  /** Seconds since the oldest of those that wait came; 0 where none does. */
  oldestWaiting?: number;
  /** By key of the station: dead letters that nobody has dealt with. */
  dead?: Readonly<Record<string, number>>;
}

/** Of one kind, over all *watch* nodes. */
export interface FindingsSnapshot {
  what: string;
  severity: 'fault' | 'warning';
  count: number;
}

/** What is so at the moment in which somebody asks, and is not counted. */
export interface Snapshot {
  stations: readonly StationSnapshot[];
  inboxes: readonly InboxSnapshot[];
  /** Groups of *alarm state* nodes that are raised; absent where there is no such node. */
  raisedGroups?: number;
  /** Of every kind, those that there are none of too; none at all where there is no *watch*. */
  findings: readonly FindingsSnapshot[];
}
