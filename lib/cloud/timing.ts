import { DEADLINE_S, PTZ_DEADLINE_S } from '../limits';

/** Times (in milliseconds) and counts of the client. Only tests change them. */
export const STATION_TIMING = {
  /** Deadline of a call, unless the call sets its own. */
  deadlineMs: DEADLINE_S * 1000,
  /** Deadline of a PTZ command: a late one would move a camera that another user may be watching by then. */
  ptzDeadlineMs: PTZ_DEADLINE_S * 1000,
  /** Maximum number of calls that wait for something that has failed; further ones fail at once. */
  longestQueue: 1000,
  /** First pause before a retry; each further pause is twice as long. */
  retryMs: 250,
  /** Longest pause before a retry. */
  longestRetryMs: 4_000,
  /** How long `/system` is polled after a login until it shows that login. */
  loginSettlesMs: 2_000,
  /** Number of outages in a row that opens the circuit. */
  outages: 5,
  /** Pause before the first probe of an unreachable service; each further pause is twice as long. */
  probeMs: 1_000,
  /** Longest pause before a probe. */
  longestProbeMs: 15_000,
  /** Longest pause before a probe while a call waits for the service. */
  longestAwaitedProbeMs: 2_000,
  /** No further login for this time after a link was refused right after a login. */
  refusalMs: 60_000,
  /** A camera that is not in the directory causes at most one refresh in this time. */
  missRefreshMs: 30_000,
} as const;

export type StationTiming = Readonly<Record<keyof typeof STATION_TIMING, number>>;

/**
 * Exponential back-off with jitter, in milliseconds: `first`, doubled with each step up to `longest`, minus a random part of up
 * to one half, so that many clients do not retry at the same moment.
 * @param step 1 for the first pause
 */
export function backoff(step: number, first: number, longest = Infinity): number {
  return Math.min(longest, first * 2 ** (step - 1)) * (0.5 + Math.random() / 2);
}

/** Adds a random part of up to one quarter, so that many clients do not act at the same moment. Milliseconds. */
export function jitter(ms: number): number {
  return ms * (1 + Math.random() / 4);
}
