import { RvmError } from '../../error';
import { meter, secondsSince, type Meter } from '../../meter';
import type { Answer } from './answer';

/** Counts a request while somebody wants to know, until its answer. @param key of the station; undefined: it is not counted */
export function metered(key: string | undefined, sending: Promise<Answer>): Promise<Answer> {
  const counting = meter();
  return key === undefined || counting === undefined ? sending : counted(counting, key, sending);
}

async function counted(counting: Meter, key: string, sending: Promise<Answer>): Promise<Answer> {
  const begun = performance.now();
  try {
    const answer = await sending;
    counting.requested(key, answer.status, secondsSince(begun));
    return answer;
  } catch (error) {
    if (hasGoneOut(error)) counting.requested(key, undefined, secondsSince(begun));
    throw error;
  }
}

/** Not what was held back, or given up in the line. */
function hasGoneOut(error: unknown): boolean {
  if (!(error instanceof RvmError) || error.cause.attempts === 0) return false;
  return error.code !== 'RATE_LIMITED' && error.code !== 'CANCELLED';
}
