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
}

/** What is so at the moment in which somebody asks, and is not counted. */
export interface Snapshot {
  stations: readonly StationSnapshot[];
  inboxes: readonly InboxSnapshot[];
}
