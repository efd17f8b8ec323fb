import { RvmError } from '../error';
import { Answer } from './answer';
import { growingPause, type StationTiming } from './timing';

/** Answers of a service that may do better in a moment. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/**
 * Milliseconds until a GET is sent once more, or undefined where its outcome stands. Only for GETs: what may have been
 * carried out is not sent again.
 * @param attempt how many have been made
 */
export function pauseAfter(
  outcome: Answer | Error,
  attempt: number,
  { attempts, retryMs, longestWaitMs }: StationTiming,
): number | undefined {
  if (attempt >= attempts) return undefined;
  const pause = growingPause(attempt, retryMs);
  if (outcome instanceof Answer) {
    if (!PASSING.has(outcome.status)) return undefined;
    const asked = outcome.retryAfterMs ?? 0;
    return asked > longestWaitMs ? undefined : Math.max(asked, pause);
  }
  if (!(outcome instanceof RvmError)) return undefined;
  // A connection that has died without a sign shows as a time-out, once: the next attempt makes a new one.
  if (outcome.code === 'TIMEOUT') return attempt === 1 ? pause : undefined;
  // With a status it is the answer of a proxy: a wrong login that is repeated may lock a user out.
  const isCutOff = outcome.code === 'NETWORK' && outcome.cause.status === undefined;
  return isCutOff ? pause : undefined;
}
