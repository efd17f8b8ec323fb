import { DEADLINE_S, PTZ_DEADLINE_S } from '../limits';

/** Pauses and counts of the client, times in milliseconds. Tests shorten them; nobody else sets them. */
export interface StationTiming {
  /** A call has so long in all, unless it says otherwise … */
  deadlineMs: number;
  /** … and a PTZ command: one that comes late moves a camera that somebody may look through by then. */
  ptzDeadlineMs: number;
  /** So many calls wait for something that has failed; more fail at once. */
  longestQueue: number;
  /** Before a request is sent again; each further pause is twice as long … */
  retryMs: number;
  /** … but no longer than this. */
  longestRetryMs: number;
  /** So long after a login `/system` is asked again where it does not show it yet. */
  loginSettlesMs: number;
  /** So many outages in a row open the circuit. */
  outages: number;
  /** Before the first probe of a service that is out of reach; each further pause is twice as long … */
  probeMs: number;
  /** … but no longer than this … */
  longestProbeMs: number;
  /** … and than this while a call waits for the service. */
  longestAwaitedProbeMs: number;
  /** After a link was refused right after a fresh login no further login is made for so long. */
  refusalMs: number;
  /** A camera that is not in the directory causes at most one refresh of it in this time. */
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
 * A growing pause with jitter, in milliseconds: `first`, doubled with each step up to `longest`, of which a random
 * half is left out, so that many clients do not come back at one moment.
 * @param step 1 for the first pause
 */
export function backoff(step: number, first: number, longest = Infinity): number {
  return Math.min(longest, first * 2 ** (step - 1)) * (0.5 + Math.random() / 2);
}

/** Milliseconds with up to a quarter more, so that many clients do not act at one moment. */
export function jitter(ms: number): number {
  return ms * (1 + Math.random() / 4);
}
