import type { FileIncident, LostTime } from '../incident';

/** What is known of a store once it is open. */
export interface OpenReport {
  /** By endpoint: events that wait. */
  waiting: Record<string, number>;
  /** Where the file is not the one that was open here before: `older`, for a backup was put back; `anew`, for it was gone. */
  restored: false | 'older' | 'anew';
  /** Where it is not: when the newest message was received that is known here, and the newest that was known, where that was remembered. */
  lost?: LostTime;
  /** Milliseconds since ids were lost with a part of the file, by its clock; absent where none were. */
  idsLostSince?: number;
}

/** What a batch that took long spent its time on, in milliseconds: the work on the file, and the sync that makes it durable. */
export interface SlowBatch {
  work: number;
  sync: number;
}

/** Settings of a database with which it is less durable than an inbox should be. */
export type UnsafeSetting =
  /** Commits are not on its disk when they are answered; the inbox asks for that all the same. */
  | 'synchronous-commit-off'
  /** When data reaches the disk is left to the system: a loss of power can lose or damage all of it. */
  | 'fsync-off'
  /** A loss of power can damage what is written at that moment. */
  | 'full-page-writes-off'
  /** Several servers are named, and commits wait for none of the standbys: the death of the primary loses the latest of them. */
  | 'standby-not-waited-for';

/**
 * `epoch-lost`: others took this instance for dead, after `stood` milliseconds without a beat that was answered. `taken-over`:
 * an instance of this name is dead, and so many events that it had leased wait again.
 */
export type StoreWarning =
  | { kind: 'volatile' | 'network'; fileSystem: string }
  | { kind: 'disk-low'; freeBytes: number }
  | { kind: 'reserve-used' }
  | { kind: 'unsafe'; what: UnsafeSetting }
  | { kind: 'epoch-lost'; stood: number }
  | { kind: 'taken-over'; name: string; count: number }
  /** Whether its file is removed or renamed cannot be told here. */
  | { kind: 'unwatched' }
  | Exclude<FileIncident, LostTime & { kind: 'restored' | 'made-anew' }>;
