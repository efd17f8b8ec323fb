/** Pauses and counts of the client, times in milliseconds. Tests shorten them; nobody else sets them. */
export interface StationTiming {
  /** A GET is sent so often in all before its failure counts. */
  attempts: number;
  /** Before the second attempt; each further pause is twice as long. */
  retryMs: number;
  /** A `Retry-After` up to here is waited for; a longer one fails the call at once. */
  longestWaitMs: number;
  /** So many outages in a row open the circuit. */
  outages: number;
  /** Before the first probe of a service that is out of reach; each further pause is twice as long … */
  probeMs: number;
  /** … but no longer than this. */
  longestProbeMs: number;
  /** After a link was refused right after a fresh login no further login is made for so long. */
  refusalMs: number;
  /** A camera that is not in the directory causes at most one refresh of it in this time. */
  missRefreshMs: number;
}

export const STATION_TIMING: Readonly<StationTiming> = {
  attempts: 3,
  retryMs: 250,
  longestWaitMs: 5_000,
  outages: 5,
  probeMs: 1_000,
  longestProbeMs: 15_000,
  refusalMs: 60_000,
  missRefreshMs: 30_000,
};

/**
 * A growing pause with jitter, in milliseconds: `first`, doubled with each step up to `longest`, of which a random
 * half is left out, so that many clients do not come back at one moment.
 * @param step 1 for the first pause
 */
export function growingPause(step: number, first: number, longest = Infinity): number {
  return Math.min(longest, first * 2 ** (step - 1)) * (0.5 + Math.random() / 2);
}

/** Milliseconds with up to a quarter more, so that many clients do not act at one moment. */
export function spread(ms: number): number {
  return ms * (1 + Math.random() / 4);
}
