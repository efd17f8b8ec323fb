import type { RvmErrorCode } from './error';

/** Result of a request on a webhook path. */
export type MeteredAnswer =
  /** Proven and stored: 200. */
  | 'accepted'
  | 'repeat'
  | 'conflict'
  | 'stale'
  /** Proven and stored, but filtered by its webhook node: 200. */
  | 'filtered'
  | 'dead-letter'
  | 'other'
  | 'self-test'
  /** Refused: 401, 405, 413, 415. */
  | 'unauthentic'
  | 'method'
  | 'large'
  | 'compressed'
  /** Left without an answer, so that the message is resent. */
  | 'cut'
  /** The sender disconnected before the body was complete. */
  | 'aborted'
  /** Answered by `httpNodeMiddleware`. */
  | 'middleware';

/**
 * Counts events of the process while metrics are wanted. The calls are on the path of an alarm: each is an increment and no
 * more, and none may throw. A station is named by its key, and is absent where it is unknown. Durations are in seconds.
 */
export interface Meter {
  /** @param seconds from the last byte of a body to the answer; absent where no body was read, or nothing was stored */
  answered(answer: MeteredAnswer, station?: string, seconds?: number): void;
  /**
   * An event was passed to the flow.
   * @param again as of a `Delivery`; undefined for the first time
   * @param seconds since its receipt
   */
  delivered(station: string, again: string | undefined, seconds: number): void;
  /** A problem of a kind, `count` times. */
  problem(kind: string, count: number): void;
  /**
   * A request to the service has ended.
   * @param status of HTTP; undefined where there was no answer
   */
  requested(station: string, status: number | undefined, seconds: number): void;
  /** An operation on the service, of a node or of the package itself, has finally failed. */
  failed(station: string, code: RvmErrorCode): void;
  videoBegan(): void;
  /** @param code reason of the failure; undefined where there was none */
  videoEnded(code: RvmErrorCode | 'other' | undefined): void;
  /** The first picture of a video job came this long after its start. */
  firstFrame(seconds: number): void;
  /** A transaction of an inbox is durable. */
  committed(engine: 'sqlite' | 'postgres', seconds: number): void;
  /** A message was stored in the spill folder because the inbox fails. */
  spilled(): void;
}

/** The meter of this process; undefined while no metrics are wanted. */
let present: Meter | undefined;

/** Counts from now on with this meter; undefined: stops counting. */
export function setMeter(meter: Meter | undefined): void {
  present = meter;
}

/** To be called at each event, because the meter may come and go. */
export function meter(): Meter | undefined {
  return present;
}

/** Seconds since a time of `performance.now()`. */
export function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1000;
}
