import type { RvmError } from '../error';
import type { Answer } from './answer';

interface Quiet {
  readonly until: number;
  readonly error: RvmError;
}

/**
 * What the service has asked to be left alone with: after a 429 with `Retry-After` nothing of that relation is sent before
 * its time. Other relations go on, so that snapshots that are asked for too often do not keep an alarm from its video.
 */
export class RateLimits {
  readonly #quiet = new Map<string, Quiet>();

  note(answer: Answer): void {
    if (answer.status !== 429 || answer.retryAfterMs === undefined) return;
    const until = performance.now() + answer.retryAfterMs;
    this.#quiet.set(answer.relation, { until, error: answer.statusError() });
  }

  /** What stands against a request by this relation: the milliseconds that are left, and the error of the 429. */
  against(relation: string): { ms: number; error: RvmError } | undefined {
    const quiet = this.#quiet.get(relation);
    if (quiet === undefined) return undefined;
    const ms = Math.ceil(quiet.until - performance.now());
    if (ms > 0) return { ms, error: quiet.error };
    this.#quiet.delete(relation);
    return undefined;
  }
}
