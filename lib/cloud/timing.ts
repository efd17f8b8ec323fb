import { DEADLINE_S, PTZ_DEADLINE_S } from '../limits';

/** Times (in milliseconds) and counts of the client. Only tests change them. */
export interface StationTiming {
  /** Deadline of a call, unless the call sets its own. */
  deadlineMs: number;
  /** Deadline of a PTZ command: a late one would move a camera that another user may be watching by then. */
  ptzDeadlineMs: number;
  /** Maximum number of calls that wait for something that has failed; further ones fail at once. */
  longestQueue: number;
  /** First pause before a retry; each further pause is twice as long. */
  retryMs: number;
  /** Longest pause before a retry. */
  longestRetryMs: number;
  /** How long `/system` is polled after a login until it shows that login. */
  loginSettlesMs: number;
  /** Number of outages in a row that opens the circuit. */
  outages: number;
  /** Pause before the first probe of an unreachable service; each further pause is twice as long. */
  probeMs: number;
  /** Longest pause before a probe. */
  longestProbeMs: number;
  /** Longest pause before a probe while a call waits for the service. */
  longestAwaitedProbeMs: number;
  /** No further login for this time after a link was refused right after a login. */
  refusalMs: number;
  /** A camera that is not in the directory causes at most one refresh in this time. */
  missRefreshMs: number;
}

export const STATION_TIMING: Readonly<StationTiming> = {
  deadlineMs: DEADLINE_S * 1000,
  ptzDeadlineMs: PTZ_DEADLINE_S * 1000,
  longestQueue: 1000,
  retryMs: 250,
  longestRetryMs: 4_000,
  loginSettlesMs: 2_000,
  outages: 5,
  probeMs: 1_000,
  longestProbeMs: 15_000,
  longestAwaitedProbeMs: 2_000,
  refusalMs: 60_000,
  missRefreshMs: 30_000,
};

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
