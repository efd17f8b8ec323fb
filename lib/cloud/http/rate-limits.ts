import type { RvmError } from '../../error';
import type { Answer } from './answer';
import { DIALECT } from '../dialect';

interface Wanted {
  relation: string;
  url?: URL;
}

interface Quiet {
  readonly until: number;
  readonly error: RvmError;
}

/** These are the same for all cameras. */
const CENTRAL: ReadonlySet<string> = new Set(['system', DIALECT.relations.login, DIALECT.relations.devices]);

/**
 * What the service has asked to be left alone with: after a 429 with `Retry-After` nothing is sent to that address before
 * its time. Others go on, so that a camera that is asked too often keeps no other from its video.
 */
export class RateLimits {
  readonly #quiet = new Map<string, Quiet>();

  note(answer: Answer): void {
    if (answer.status !== 429 || answer.retryAfterMs === undefined) return;
    const now = performance.now();
    for (const [key, quiet] of this.#quiet) if (quiet.until <= now) this.#quiet.delete(key);
    const until = now + answer.retryAfterMs;
    this.#quiet.set(keyOf(answer), { until, error: answer.statusError() });
  }

  /** What stands against a request: the milliseconds that are left, and the error of the 429. */
  against(wanted: Wanted): { ms: number; error: RvmError } | undefined {
    const key = keyOf(wanted);
    const quiet = this.#quiet.get(key);
    if (quiet === undefined) return undefined;
    const ms = Math.ceil(quiet.until - performance.now());
    if (ms > 0) return { ms, error: quiet.error };
    this.#quiet.delete(key);
    return undefined;
  }
}

function keyOf({ relation, url }: Wanted): string {
  return CENTRAL.has(relation) ? relation : (url?.href ?? relation);
}
