import type { RvmErrorCode } from './error';

/** What became of a request on a webhook path. */
export type MeteredAnswer =
  /** Proven, and stored: 200. */
  | 'accepted'
  | 'repeat'
  | 'conflict'
  | 'stale'
  /** Proven, and stored, and of no interest to its webhook node: 200. */
  | 'filtered'
  | 'dead-letter'
  | 'other'
  | 'self-test'
  /** Refused: 401, 405, 413, 415. */
  | 'unauthentic'
  | 'method'
  | 'large'
  | 'compressed'
  /** Left without an answer, so that its sender comes again. */
  | 'cut'
  /** Its sender has gone before the body was whole. */
  | 'aborted'
  /** Answered by `httpNodeMiddleware`. */
  | 'middleware';

/**
 * Counts what happens, while somebody wants to know. Called where an alarm is on its way: each is an increment and no more, and none
 * may throw. A station is named by its key, and not at all where nobody knows which it is. Durations are in seconds.
 */
export interface Meter {
  /** @param seconds from the last byte of a body until its answer; absent where none was read, or none was stored */
  answered(answer: MeteredAnswer, station?: string, seconds?: number): void;
  /**
   * An event was handed to the flow.
   * @param again as of a `Delivery`; undefined for the first time
   * @param seconds since its receipt
   */
  delivered(station: string, again: string | undefined, seconds: number): void;
  /** A problem of a kind, so many times. */
  problem(kind: string, count: number): void;
  /**
   * A request to the service has come to its end.
   * @param status of HTTP; undefined where there was no answer
   */
  requested(station: string, status: number | undefined, seconds: number): void;
  /** What a node, or the package by itself, wanted of the service has failed for good. */
  failed(station: string, code: RvmErrorCode): void;
  videoBegan(): void;
  /** @param code why it failed; undefined where it did not */
  videoEnded(code: RvmErrorCode | 'other' | undefined): void;
  /** The first picture of a video job is there, so long after it began. */
  firstFrame(seconds: number): void;
  /** A transaction of an inbox is durable. */
  committed(engine: 'sqlite' | 'postgres', seconds: number): void;
  /** A message was kept beside an inbox that fails. */
  spilled(): void;
}

/** The one of this process; undefined while nobody wants to know. */
let present: Meter | undefined;

/** Counts from now on; undefined: nothing more is counted. */
export function setMeter(meter: Meter | undefined): void {
  present = meter;
}

/** To be asked for with each thing that happens, for it may come and go. */
export function meter(): Meter | undefined {
  return present;
}

/** From a moment of `performance.now()` until now. */
export function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1000;
}
