import { RvmError } from '../../error';
import { Answer } from './answer';
import { asError } from '../../concurrency/as-error';
import type { Operation } from '../operation';
import { growingPause, type StationTiming } from '../timing';
import type { ServiceRequest, Transport } from './transport';

/** Answers of a service that may do better in a moment. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/**
 * The answer to a request, tried more often where that does no harm: a GET that may succeed the next time, and none that the
 * service has asked to wait with for long.
 * @param once one attempt
 * @throws RvmError RATE_LIMITED, and what the last attempt throws
 */
export async function withRetries(
  transport: Transport,
  operation: Operation,
  { method, relation, url, admit }: ServiceRequest,
  once: (attempt: number) => Promise<Answer>,
): Promise<Answer> {
  const { limits, timing } = transport;
  const mayWait = method === 'GET' && !operation.once;
  for (let attempt = 1; ; attempt += 1) {
    const limit = limits.against({ relation, url });
    if (limit !== undefined) {
      if (!mayWait || limit.ms > timing.longestWaitMs) throw limit.error;
      await transport.pause(operation, relation, limit.ms);
    }
    const outcome = await once(attempt).catch(asError);
    if (outcome instanceof Answer) limits.note(outcome);
    const pause = mayWait ? pauseAfter(outcome, attempt, timing) : undefined;
    if (pause === undefined) {
      if (outcome instanceof Answer) return outcome;
      throw outcome;
    }
    // What shall not be sent any more is not waited for either.
    admit?.();
    await transport.pause(operation, relation, pause);
  }
}

/**
 * Milliseconds until a GET is sent once more, or undefined where its outcome stands. Only for GETs: what may have been
 * carried out is not sent again.
 * @param attempt how many have been made
 */
function pauseAfter(
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
  // It waited in line for long enough.
  if (outcome.cause.attempts === 0) return undefined;
  // A connection that has died without a sign shows as a time-out, once: the next attempt makes a new one.
  if (outcome.code === 'TIMEOUT') return attempt === 1 ? pause : undefined;
  // With a status it is the answer of a proxy: a wrong login that is repeated may lock a user out.
  const { status } = outcome.cause;
  const mayPass = status === undefined || PASSING.has(status);
  return outcome.code === 'NETWORK' && mayPass ? pause : undefined;
}
